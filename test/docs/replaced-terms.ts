// Words that must not come back, with the term of docs/GLOSSARY.md that replaces each. Whole words, any case.

/** Words that are wrong wherever they occur in prose: in documents, comments, log events. */
export const replacedInProse: Readonly<Record<string, string>> = {
  'vow|vows': 'commit barrier',
  'neighbour|neighbours': 'peer',
  crew: 'supervisor, manager',
  'doorkeeper|doorkeepers': 'authenticator',
  'stranger|strangers': 'unauthenticated client, remote broker',
  'house test|the house': 'architecture test, architecture',
  'room|rooms': 'module; limit, space',
  'floor|floors': 'layer',
  'door|doors': 'entry point, listener, check',
  'somebody|anybody|everybody|nobody|whoever|whom': 'the noun: client, user, administrator, shard',
  anew: 'again',
  'begins anew|begin anew': 'restart',
  'the vow|verdict|verdicts': 'access decision',
  'slab|slabs': 'buffer',
  patience: 'timeout',
  'set aside': 'quarantine',
  'thread of the broker|part of the broker': 'shard',
  'send away|sent away|turned away|turn away|cut off': 'disconnect, refuse',
  'given up|gives up|give up': 'drop, stop, abandon',
  'story|stories': 'scenario',
  dice: 'random generator',
}

/** Parts of file names and of identifiers. */
export const replacedInNames: Readonly<Record<string, string>> = {
  vow: 'commit-barrier',
  neighbour: 'peer',
  neighbours: 'peers',
  keeper: 'owner',
  seat: 'client',
  crew: 'supervisor, manager',
  doorkeeper: 'authenticator',
  stranger: 'unauthenticated',
  strangers: 'unauthenticated',
  slab: 'buffer',
  slabs: 'buffers',
  ledger: 'drops',
  patience: 'timeout',
  verdict: 'decision',
  verdicts: 'authorizations',
  grave: 'tombstone',
  door: 'acceptor',
  floor: 'layer',
  guest: 'socket',
  porter: 'listener-factory',
  deed: 'action',
  wish: 'request',
  foresight: 'preview',
  foreseen: 'preview',
  speaker: 'principal',
  audience: 'subscribers',
  sibling: 'peer',
  outlet: 'output',
  salvage: 'repair',
  hope: 'defer',
  strike: 'cancel',
  elsewhere: 'peers',
  untold: 'unreported, suppressed',
  audiences: 'subscribers',
  company: 'members, stores',
  dice: 'generator',
  doors: 'listeners',
  guests: 'clients',
  seats: 'members',
  misfit: 'type error',
  question: 'request, query, confirmation',
  questions: 'requests, queries, confirmations',
  story: 'scenario',
  stories: 'scenarios',
  ask: 'request, query, call',
  asks: 'requests, queries, calls',
  asked: 'request, query, requested',
  asking: 'request, pending',
  twist: 'feature',
  twists: 'features',
}

/** Names of the HTTP API, of JavaScript and of OpenID Connect, and strings of fixtures, which stay. */
export const publishedNames: ReadonlySet<string> = new Set(['audience', 'audiences', 'elsewhere', 'floor', 'verdict'])
export const fixedTexts: ReadonlySet<string> = new Set(['m8k3f somebody'])

/** Documents that use some of these words still. This list may only shrink. */
export const documentsToRewrite: readonly string[] = []

/** Modules whose comments use some of these words still. This list may only shrink. */
export const modulesToRewrite: readonly string[] = []
