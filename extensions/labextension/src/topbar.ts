/** The top bar's item: where one is, and its menu. */

import { MenuSvg } from '@jupyterlab/ui-components';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { CommandRegistry } from '@lumino/commands';
import { Widget } from '@lumino/widgets';

import type { Channel } from './channel';
import { CommandIDs } from './commands';
import type { IPlace } from './site';
import { topBarText } from './words';

/** Shows `<project> · <image> · <GPU>`; opens the menu. */
export class TopBarItem extends Widget {
  /**
   * @param commands - Has what the menu names.
   * @param channel - Says how the server stands.
   * @param place - What the page was served with.
   * @param trans - The language.
   */
  constructor(
    commands: CommandRegistry,
    private readonly channel: Channel,
    private readonly place: IPlace,
    private readonly trans: TranslationBundle
  ) {
    super();
    this.id = 'bancada-top-bar';
    this.addClass('bcd-TopBar');
    this.button.className = 'bcd-TopBar-button';
    this.button.type = 'button';
    this.button.setAttribute('aria-haspopup', 'menu');
    this.node.appendChild(this.button);
    this.menu = new MenuSvg({ commands });
    for (const command of [CommandIDs.back, CommandIDs.stop, CommandIDs.reset]) {
      this.menu.addItem({ command });
    }
    this.button.addEventListener('click', this.openMenu);
    channel.changed.connect(this.show_, this);
    this.show_();
  }

  override dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this.button.removeEventListener('click', this.openMenu);
    this.channel.changed.disconnect(this.show_, this);
    this.menu.dispose();
    super.dispose();
  }

  private readonly openMenu = (): void => {
    const box = this.button.getBoundingClientRect();
    this.menu.open(box.left, box.bottom);
  };

  private show_(): void {
    // What is known stays while the connection is lost: the project does not change.
    const facts = this.channel.state?.facts;
    if (facts || this.button.textContent === '') {
      this.button.textContent = topBarText(this.place, this.channel.state, this.trans);
    }
    this.button.title = facts ? this.trans.__('Project, image and GPU of this server. Revision %1', facts.revision) : '';
  }

  private readonly button = document.createElement('button');
  private readonly menu: MenuSvg;
}
