/** The one connection from the server to this page. Closed while the page is hidden; opened again with back-off. */

import { URLExt } from '@jupyterlab/coreutils';
import type { ServerConnection } from '@jupyterlab/services';
import type { IDisposable } from '@lumino/disposable';
import { type ISignal, Signal } from '@lumino/signaling';

import { type INotice, type IState, parseMessage } from './site';

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30000;

/** Receives states and notices. */
export class Channel implements IDisposable {
  /**
   * @param settings - Where the server is.
   */
  constructor(private readonly settings: ServerConnection.ISettings) {
    document.addEventListener('visibilitychange', this.followVisibility);
    this.followVisibility();
  }

  /** The last state that came; null before the first, and while the connection is lost. */
  get state(): IState | null {
    return this._state;
  }

  /** Emitted when the state changes. */
  get changed(): ISignal<this, IState | null> {
    return this._changed;
  }

  /** Emitted for each notice. */
  get noticed(): ISignal<this, INotice> {
    return this._noticed;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    document.removeEventListener('visibilitychange', this.followVisibility);
    this.close();
    Signal.clearData(this);
  }

  private readonly followVisibility = (): void => {
    if (document.hidden) {
      this.close();
    } else if (this._socket === null && this._timer === null) {
      this.open();
    }
  };

  private open(): void {
    this._timer = null;
    const { wsUrl, token, appendToken, WebSocket } = this.settings;
    const query = appendToken && token ? `?token=${encodeURIComponent(token)}` : '';
    const socket = new WebSocket(URLExt.join(wsUrl, 'bancada', 'events') + query);
    this._socket = socket;
    socket.onopen = () => {
      this._waitMs = FIRST_WAIT_MS;
    };
    socket.onmessage = event => {
      this.take(String(event.data));
    };
    socket.onclose = () => {
      if (this._socket === socket) {
        this._socket = null;
        this.setState(null);
        this.openLater();
      }
    };
  }

  private openLater(): void {
    if (this._isDisposed || document.hidden) {
      return;
    }
    // Many pages lose the same server at once: each comes back at its own time.
    const waitMs = this._waitMs * (0.75 + Math.random() / 2);
    this._waitMs = Math.min(2 * this._waitMs, LONGEST_WAIT_MS);
    this._timer = window.setTimeout(() => {
      this.open();
    }, waitMs);
  }

  private close(): void {
    if (this._timer !== null) {
      window.clearTimeout(this._timer);
      this._timer = null;
    }
    const socket = this._socket;
    this._socket = null;
    socket?.close();
  }

  private take(text: string): void {
    const message = parseMessage(text);
    if (message?.kind === 'state') {
      this.setState(message.state);
    } else if (message?.kind === 'notice') {
      this._noticed.emit(message.notice);
    }
  }

  private setState(state: IState | null): void {
    this._state = state;
    this._changed.emit(state);
  }

  private _state: IState | null = null;
  private _socket: WebSocket | null = null;
  private _timer: number | null = null;
  private _waitMs = FIRST_WAIT_MS;
  private _isDisposed = false;
  private readonly _changed = new Signal<this, IState | null>(this);
  private readonly _noticed = new Signal<this, INotice>(this);
}
