/** What Bancada adds to JupyterLab: small plugins over one connection. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { ILauncher } from '@jupyterlab/launcher';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator } from '@jupyterlab/translation';
import { Token } from '@lumino/coreutils';

import { Channel } from './channel';
import { addCommands, CommandIDs } from './commands';
import { addExamples } from './examples';
import { showNotice } from './notices';
import { Panel } from './panel';
import { readPlace } from './site';
import { StatusItem } from './status';
import { TopBarItem } from './topbar';

const DOMAIN = 'bancada';
const TOP_BAR_RANK = 1000;
const PANEL_RANK = 1000;

/** The connection to the site, for all plugins. */
const IChannel = new Token<Channel>('@bancada/lab:IChannel', 'The connection from the server to this page.');

const channel: JupyterFrontEndPlugin<Channel> = {
  id: '@bancada/lab:channel',
  description: 'Keeps one connection to the server, and shows what the site tells this person.',
  autoStart: true,
  provides: IChannel,
  activate: (app: JupyterFrontEnd) => {
    const opened = new Channel(app.serviceManager.serverSettings);
    opened.noticed.connect((_, notice) => {
      showNotice(notice);
    });
    return opened;
  }
};

const commands: JupyterFrontEndPlugin<void> = {
  id: '@bancada/lab:commands',
  description: 'Adds the ways back to the site, also to the palette.',
  autoStart: true,
  requires: [ITranslator],
  optional: [ICommandPalette],
  activate: (app: JupyterFrontEnd, translator: ITranslator, palette: ICommandPalette | null) => {
    addCommands(app, readPlace(), translator.load(DOMAIN));
    for (const command of [CommandIDs.back, CommandIDs.stop, CommandIDs.reset, CommandIDs.panel]) {
      palette?.addItem({ command, category: 'Bancada', args: { palette: true } });
    }
  }
};

const topBar: JupyterFrontEndPlugin<void> = {
  id: '@bancada/lab:top-bar',
  description: 'Shows project, image and GPU, with a menu.',
  autoStart: true,
  requires: [IChannel, ITranslator],
  activate: (app: JupyterFrontEnd, opened: Channel, translator: ITranslator) => {
    const item = new TopBarItem(app.commands, opened, readPlace(), translator.load(DOMAIN));
    app.shell.add(item, 'top', { rank: TOP_BAR_RANK });
  }
};

const panel: JupyterFrontEndPlugin<void> = {
  id: '@bancada/lab:panel',
  description: 'Adds the sidebar Bancada.',
  autoStart: true,
  requires: [ITranslator],
  activate: (app: JupyterFrontEnd, translator: ITranslator) => {
    const trans = translator.load(DOMAIN);
    const widget = new Panel(trans);
    app.shell.add(widget, 'right', { rank: PANEL_RANK });
    app.commands.addCommand(CommandIDs.panel, {
      label: args => (args['palette'] ? `Bancada: ${trans.__('Show the panel')}` : trans.__('Show the panel')),
      execute: () => {
        app.shell.activateById(widget.id);
      }
    });
  }
};

const status: JupyterFrontEndPlugin<void> = {
  id: '@bancada/lab:status',
  description: 'Says in the status bar how this server stands.',
  autoStart: true,
  requires: [IChannel, ITranslator, IStatusBar],
  activate: (_app: JupyterFrontEnd, opened: Channel, translator: ITranslator, bar: IStatusBar) => {
    bar.registerStatusItem('@bancada/lab:status', {
      item: new StatusItem(opened, translator.load(DOMAIN)),
      align: 'right',
      rank: 0
    });
  }
};

const examples: JupyterFrontEndPlugin<void> = {
  id: '@bancada/lab:examples',
  description: 'Adds the launcher’s section Examples.',
  autoStart: true,
  requires: [ILauncher, ITranslator],
  activate: async (app: JupyterFrontEnd, launcher: ILauncher, translator: ITranslator) => {
    const place = readPlace();
    if (place.examples !== '') {
      await addExamples(app, launcher, place, translator.load(DOMAIN));
    }
  }
};

const plugins: JupyterFrontEndPlugin<unknown>[] = [channel, commands, topBar, panel, status, examples];
export default plugins;
