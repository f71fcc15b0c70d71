/** The status bar's item: one mark, one word. */

import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import type { Channel } from './channel';
import { statusWords } from './words';

/** Says how this server stands. */
export class StatusItem extends Widget {
  /**
   * @param channel - Says how the server stands.
   * @param trans - The language.
   */
  constructor(
    private readonly channel: Channel,
    private readonly trans: TranslationBundle
  ) {
    super();
    this.addClass('bcd-Status');
    this.mark.className = 'bcd-Status-mark';
    this.mark.setAttribute('aria-hidden', 'true');
    this.node.append(this.mark, this.word);
    channel.changed.connect(this.show_, this);
    this.show_();
  }

  override dispose(): void {
    this.channel.changed.disconnect(this.show_, this);
    super.dispose();
  }

  private show_(): void {
    const words = statusWords(this.channel.state, this.trans);
    this.node.dataset['tone'] = words.tone;
    this.mark.textContent = words.mark;
    this.word.textContent = words.text;
    this.node.title = words.detail;
  }

  private readonly mark = document.createElement('span');
  private readonly word = document.createElement('span');
}
