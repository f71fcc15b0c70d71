/** What the site tells a person, as a toast with at most one action. */

import { Notification } from '@jupyterlab/apputils';

import { type INotice, isOwnAddress } from './site';

/** Show a notice until it is closed. */
export function showNotice(notice: INotice): void {
  const { text, level, action_label, action_url } = notice;
  const actions =
    action_label !== '' && isOwnAddress(action_url)
      ? [
          {
            label: action_label,
            displayType: 'accent' as const,
            callback: (): void => {
              window.location.assign(action_url);
            }
          }
        ]
      : [];
  Notification.emit(text, level, { autoClose: false, actions });
}
