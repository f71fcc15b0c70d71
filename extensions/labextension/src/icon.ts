import { LabIcon } from '@jupyterlab/ui-components';

/** The workbench of Bancada's mark, in the theme's colour. */
export const benchIcon = new LabIcon({
  name: 'bancada:bench',
  svgstr:
    '<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 28 28"><path class="jp-icon3" stroke="#616161" ' +
    'd="M4 9.5h20M7.5 9.5v12M20.5 9.5v12M7.5 15.5h13" fill="none" stroke-width="2.6" stroke-linecap="round"/></svg>'
});
