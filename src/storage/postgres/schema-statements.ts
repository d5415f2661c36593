// The tables of a cluster, in the schema `godwit` of a database. A later version appends its statements: released ones never change.
//
//   godwit_cluster  one row: what this database is. Each transaction of the membership locks it first
//   shards          one row for each shard that this database stores: who may write it
//   records         the pairs of LevelDB, one partition for each shard
//   quarantine      damaged records, for analysis
//   nodes, homes, unlinked   the membership (that of the first database is used): lives, the home of each shard, pairs that do not reach each other

/** Version of the tables that this Godwit uses. */
export const schemaVersion = 1

/** Version of the keys and values in `records` that this Godwit writes. A database with a greater one is refused. */
export const encodingLevel = 1

/** Adjacent deletions wait for vacuum, so a partition is vacuumed after this number, whatever its size. */
export const vacuumThreshold = 50_000

/** `upgrades[n]` leads from version n to n + 1. Each runs in a transaction of its own with the row of `godwit_cluster`. */
export const upgrades: readonly (readonly string[])[] = [
  [
    `CREATE TABLE godwit_cluster (
      is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
      cluster_id text NOT NULL,
      store integer NOT NULL,
      stores integer NOT NULL,
      shards integer NOT NULL CHECK (shards BETWEEN 1 AND 256),
      schema_version integer NOT NULL,
      encoding_level integer NOT NULL,
      membership_version bigint NOT NULL DEFAULT 0
    )`,
    // Each commit changes a row of this table. With free space in its page, that needs no new page and no new index entry.
    `CREATE TABLE shards (
      shard integer PRIMARY KEY,
      epoch bigint NOT NULL DEFAULT 0,
      life text,
      sequence bigint NOT NULL DEFAULT 0,
      attempt bigint NOT NULL DEFAULT 0
    ) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,
      autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off)`,
    `CREATE TABLE records (
      shard integer NOT NULL,
      key bytea NOT NULL,
      value bytea NOT NULL,
      PRIMARY KEY (shard, key)
    ) PARTITION BY LIST (shard)`,
    `CREATE TABLE quarantine (
      shard integer NOT NULL,
      key bytea NOT NULL,
      value bytea NOT NULL,
      reason text NOT NULL,
      found_at timestamptz NOT NULL DEFAULT clock_timestamp()
    )`,
    `CREATE TABLE nodes (
      life text PRIMARY KEY,
      name text NOT NULL,
      role text NOT NULL,
      address text NOT NULL,
      seen timestamptz NOT NULL,
      applied bigint NOT NULL DEFAULT 0,
      ended timestamptz,
      lease_ms bigint NOT NULL,
      join_order bigint NOT NULL,
      beats bigint NOT NULL DEFAULT 0,
      attempt bigint NOT NULL,
      can_take boolean NOT NULL DEFAULT false,
      is_evacuated boolean NOT NULL DEFAULT false,
      is_refused boolean NOT NULL DEFAULT false
    ) WITH (fillfactor = 10)`,
    // Apart from `shards`, whose rows each commit locks: a home that waits for the standby must not stop the membership.
    `CREATE TABLE homes (
      shard integer PRIMARY KEY,
      epoch bigint NOT NULL DEFAULT 0,
      life text,
      failures integer NOT NULL DEFAULT 0,
      is_restored boolean NOT NULL DEFAULT true,
      target text,
      is_held boolean NOT NULL DEFAULT false
    )`,
    `CREATE TABLE unlinked (
      by text NOT NULL,
      of text NOT NULL,
      PRIMARY KEY (by, of)
    )`,
  ],
]

/** Returns the statement that creates the homes of all shards, in the first database. */
export function createHomesStatement(shards: number): string {
  return `INSERT INTO homes (shard) SELECT generate_series(0, ${shards - 1}) ON CONFLICT DO NOTHING`
}

/** Returns the name of the partition of a shard. */
export function getPartitionName(shard: number): string {
  return `records_${shard}`
}

/**
 * Returns the statements that create row and partition of a shard. Values are not compressed: the server would compress each of them,
 * and MQTT payloads are often compressed already.
 */
export function createPartitionStatements(shard: number): readonly string[] {
  const partition = getPartitionName(shard)
  const vacuum = ['', 'toast.'].flatMap((prefix) => [
    `${prefix}autovacuum_vacuum_scale_factor = 0`,
    `${prefix}autovacuum_vacuum_threshold = ${vacuumThreshold}`,
    `${prefix}autovacuum_vacuum_cost_delay = 0`,
    `${prefix}vacuum_truncate = off`,
  ])
  return [
    `CREATE TABLE IF NOT EXISTS ${partition} PARTITION OF records FOR VALUES IN (${shard}) WITH (${vacuum.join(', ')})`,
    `ALTER TABLE ${partition} ALTER COLUMN value SET STORAGE EXTERNAL`,
    `INSERT INTO shards (shard) VALUES (${shard}) ON CONFLICT DO NOTHING`,
  ]
}
