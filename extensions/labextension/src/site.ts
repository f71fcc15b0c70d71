/** What the site and this server tell about each other, as the server passes it on. Shapes: bancada/contract.py. */

import { PageConfig } from '@jupyterlab/coreutils';

/** What this page knows from the start, without asking. */
export interface IPlace {
  /** The project's slug. */
  readonly project: string;
  /** The address of the page Work; empty outside a site. */
  readonly work: string;
  /** Folders in the file browser: the person's own files, and the examples. */
  readonly myFiles: string;
  readonly examples: string;
}

/** What the site knows of the project. */
export interface IFacts {
  readonly title: string;
  readonly image: string;
  readonly revision: string;
  readonly gpus: readonly string[];
}

/** How this server stands with the site. */
export interface IState {
  readonly kind: 'work' | 'rescue';
  /** `unknown` until the site first answered. */
  readonly site: 'unknown' | 'well' | 'away' | 'refused';
  /** What the site said, when it refused. */
  readonly problem: string;
  /** When the site last answered, in ISO 8601; empty when it never did. */
  readonly answered_at: string;
  readonly facts: IFacts | null;
}

/** Something that the site tells this person, once. */
export interface INotice {
  readonly id: number;
  readonly level: 'info' | 'warning' | 'error';
  readonly text: string;
  readonly action_label: string;
  readonly action_url: string;
}

/** What comes over the channel. */
export type Message =
  | { readonly kind: 'state'; readonly state: IState }
  | { readonly kind: 'notice'; readonly notice: INotice };

/** Return what the page was served with. */
export function readPlace(): IPlace {
  return {
    project: PageConfig.getOption('bancadaProject'),
    work: PageConfig.getOption('bancadaWork'),
    myFiles: PageConfig.getOption('bancadaMyFiles'),
    examples: PageConfig.getOption('bancadaExamples')
  };
}

/** Return a message, or null for what is none: a server of another release may send more kinds. */
export function parseMessage(text: string): Message | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isTable(value)) {
    return null;
  }
  if (value['kind'] === 'state' && isState(value['state'])) {
    return { kind: 'state', state: value['state'] };
  }
  if (value['kind'] === 'notice' && isNotice(value['notice'])) {
    return { kind: 'notice', notice: value['notice'] };
  }
  return null;
}

/** Whether an address leads to this site: a notice never leads elsewhere. */
export function isOwnAddress(url: string): boolean {
  return /^\/(?![/\\])/.test(url);
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isState(value: unknown): value is IState {
  return (
    isTable(value) &&
    ['work', 'rescue'].includes(String(value['kind'])) &&
    ['unknown', 'well', 'away', 'refused'].includes(String(value['site'])) &&
    ['problem', 'answered_at'].every(name => typeof value[name] === 'string') &&
    (value['facts'] === null || isFacts(value['facts']))
  );
}

function isFacts(value: unknown): value is IFacts {
  return (
    isTable(value) &&
    ['title', 'image', 'revision'].every(name => typeof value[name] === 'string') &&
    Array.isArray(value['gpus']) &&
    value['gpus'].every(gpu => typeof gpu === 'string')
  );
}

function isNotice(value: unknown): value is INotice {
  return (
    isTable(value) &&
    Number.isInteger(value['id']) &&
    ['info', 'warning', 'error'].includes(String(value['level'])) &&
    ['text', 'action_label', 'action_url'].every(name => typeof value[name] === 'string')
  );
}
