// Names of all alarms. docs/OPERATING.md describes each; a test compares the page with these lists.

/** Alarms that exist once per node. */
export const alarmNames = [
  'disk-full',
  'disk-unreadable',
  'storage',
  'storage-reading',
  'maintenance-failed',
  'database-damaged',
  'records-damaged',
  'records-too-new',
  'settings-restored',
  'secret-replaced',
  'batches-missing',
  'body-missing',
  'sessions-recovered',
  'messages-exported',
  'session-set-aside',
  'retained-set-aside',
  'shard-restarting',
  'shards',
  'overload',
  'client-id-conflict',
  'memory',
  'connections',
  'descriptors',
  'listener',
  'certificate-ends',
] as const

/** Alarms that exist once per object: the name of the object follows the prefix. */
export const alarmPrefixes = [
  'certificates:',
  'listener-closed:',
  'bridge:',
  'action:',
  'dead-letters:',
  'source:',
  'gateway:',
  'node-unreachable:',
  'cluster-stalled:',
  'session-queue:',
  'store-unreplicated:',
  'store-went-back:',
  'store-snapshot:',
  'plugin_failed:',
  'module-unloaded:',
] as const

export type AlarmName = (typeof alarmNames)[number] | `${(typeof alarmPrefixes)[number]}${string}`
