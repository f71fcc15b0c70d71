/** The one sidebar of Bancada. */

import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import { benchIcon } from './icon';

/** Says what is not there yet; later releases fill it. */
export class Panel extends Widget {
  /**
   * @param trans - The language.
   */
  constructor(trans: TranslationBundle) {
    super();
    this.id = 'bancada-panel';
    this.addClass('bcd-Panel');
    this.title.icon = benchIcon;
    this.title.caption = 'Bancada';
    const heading = document.createElement('h2');
    heading.textContent = 'Bancada';
    const text = document.createElement('p');
    text.textContent = trans.__(
      'Nothing to show: this release measures no health, storage or runs of a project and takes no snapshots.'
    );
    this.node.append(heading, text);
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', 'Bancada');
  }
}
