/** The launcher's section Examples: each opens a copy in the person's own files. */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import { PathExt } from '@jupyterlab/coreutils';
import type { ILauncher } from '@jupyterlab/launcher';
import type { Contents } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';
import { notebookIcon } from '@jupyterlab/ui-components';

import type { IPlace } from './site';

const OPEN_COPY = 'bancada:open-example';

/**
 * Fill the section.
 *
 * @param app - JupyterLab.
 * @param launcher - Gets an item an example.
 * @param place - Where examples and own files are.
 * @param trans - The language.
 */
export async function addExamples(
  app: JupyterFrontEnd,
  launcher: ILauncher,
  place: IPlace,
  trans: TranslationBundle
): Promise<void> {
  const { commands, serviceManager } = app;
  commands.addCommand(OPEN_COPY, {
    label: args => title(String(args['path'])),
    caption: args => trans.__('Opens a copy of %1 in %2', PathExt.basename(String(args['path'])), place.myFiles),
    icon: notebookIcon,
    execute: async args => {
      const copy = await serviceManager.contents.copy(String(args['path']), place.myFiles);
      return commands.execute('docmanager:open', { path: copy.path }) as Promise<unknown>;
    }
  });
  const paths = await notebooks(serviceManager.contents, place.examples);
  paths.forEach((path, rank) => {
    launcher.add({ command: OPEN_COPY, args: { path }, category: trans.__('Examples'), rank });
  });
}

async function notebooks(contents: Contents.IManager, folder: string): Promise<string[]> {
  const found = await contents.get(folder, { content: true });
  const content: unknown = found.content;
  const paths = Array.isArray(content) ? content.map(item => String((item as Contents.IModel).path)) : [];
  return paths.filter(path => path.endsWith('.ipynb')).sort();
}

/** `start-here.ipynb` reads as `Start here`. */
function title(path: string): string {
  const words = PathExt.basename(path, '.ipynb').replace(/[-_]+/g, ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
