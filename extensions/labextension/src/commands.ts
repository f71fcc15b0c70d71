/** What a person can do from here; menu and palette only name these. */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Dialog, Notification, showDialog } from '@jupyterlab/apputils';
import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';

import type { IPlace } from './site';

/** Ids of commands. */
export const CommandIDs = {
  back: 'bancada:back',
  stop: 'bancada:stop',
  reset: 'bancada:reset-environment',
  panel: 'bancada:show-panel'
} as const;

/**
 * Add the commands that lead back to the site.
 *
 * @param app - JupyterLab.
 * @param place - What the page was served with.
 * @param trans - The language.
 */
export function addCommands(app: JupyterFrontEnd, place: IPlace, trans: TranslationBundle): void {
  const add = (id: string, text: string, caption: string, execute: () => void | Promise<void>): void => {
    app.commands.addCommand(id, {
      label: args => (args['palette'] ? `Bancada: ${text}` : text),
      caption,
      execute
    });
  };
  add(CommandIDs.back, trans.__('Back to Bancada'), trans.__('Your projects; this one goes on'), () => {
    window.location.assign(place.work);
  });
  add(CommandIDs.stop, trans.__('Stop'), trans.__('End all kernels and terminals of this project'), () =>
    stop(app, place, trans)
  );
  add(CommandIDs.reset, trans.__('Reset environment…'), trans.__('On the page Work, once the project is stopped'), () => {
    window.location.assign(`${place.work}#project-${place.project}`);
  });
}

async function stop(app: JupyterFrontEnd, place: IPlace, trans: TranslationBundle): Promise<void> {
  const answer = await showDialog({
    title: trans.__('Stop %1?', place.project),
    body: trans.__('Running cells and terminals end. Saved files stay.'),
    buttons: [Dialog.cancelButton({ label: trans.__('Cancel') }), Dialog.warnButton({ label: trans.__('Stop') })]
  });
  if (!answer.button.accept) {
    return;
  }
  const settings = app.serviceManager.serverSettings;
  const url = URLExt.join(settings.baseUrl, 'bancada', 'stop');
  try {
    const response = await ServerConnection.makeRequest(url, { method: 'POST' }, settings);
    if (!response.ok) {
      throw await ServerConnection.ResponseError.create(response);
    }
  } catch (error) {
    // A connection that broke may well be the stop itself: the page Work says how it stands.
    if (!(error instanceof ServerConnection.NetworkError)) {
      const why = error instanceof Error ? error.message : String(error);
      Notification.error(trans.__('The project was not stopped: %1', why));
      return;
    }
  }
  window.location.assign(place.work);
}
