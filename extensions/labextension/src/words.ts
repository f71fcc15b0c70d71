/** How states are said: pure, so that every surface says the same. */

import type { TranslationBundle } from '@jupyterlab/translation';

import type { IPlace, IState } from './site';

/** A state in colour, mark and word. */
export interface IStatusWords {
  readonly tone: 'good' | 'warn' | 'idle';
  readonly mark: string;
  readonly text: string;
  readonly detail: string;
}

/**
 * Return the top bar's text.
 *
 * @param place - What the page was served with.
 * @param state - How the server stands; null while that is not known.
 * @param trans - The language.
 */
export function topBarText(place: IPlace, state: IState | null, trans: TranslationBundle): string {
  const facts = state?.facts;
  if (!facts) {
    return place.project;
  }
  const gpus = facts.gpus.length === 0 ? trans.__('no GPU') : facts.gpus.join(', ');
  return [facts.title, facts.image, gpus].filter(part => part !== '').join(' · ');
}

/**
 * Return the status bar's words.
 *
 * @param state - How the server stands; null while the page has no connection to it.
 * @param trans - The language.
 */
export function statusWords(state: IState | null, trans: TranslationBundle): IStatusWords {
  if (state === null) {
    return { tone: 'idle', mark: '○', text: trans.__('Connecting'), detail: trans.__('This page has no connection to its server.') };
  }
  if (state.site === 'refused') {
    return { tone: 'warn', mark: '▲', text: trans.__('Needs attention'), detail: state.problem };
  }
  if (state.site === 'away') {
    return { tone: 'warn', mark: '▲', text: trans.__('Bancada does not answer'), detail: awayDetail(state, trans) };
  }
  if (state.kind === 'rescue') {
    const detail = trans.__('Started without your own changes to the environment; /opt/env is the image’s own.');
    return { tone: 'warn', mark: '▲', text: trans.__('Safe mode'), detail };
  }
  if (state.site === 'unknown') {
    return { tone: 'idle', mark: '○', text: trans.__('Connecting'), detail: trans.__('The site has not answered yet.') };
  }
  return { tone: 'good', mark: '●', text: trans.__('Running'), detail: trans.__('This server and the site answer.') };
}

function awayDetail(state: IState, trans: TranslationBundle): string {
  if (state.answered_at === '') {
    return trans.__('The site has not answered yet. Your work goes on.');
  }
  const time = new Date(state.answered_at).toLocaleTimeString();
  return trans.__('The site last answered at %1. Your work goes on.', time);
}
