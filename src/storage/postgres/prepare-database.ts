// Creates or upgrades the tables of a cluster, and refuses a database that does not belong to it.

import { randomBytes } from 'node:crypto'
import { StorageFailure } from '../store.ts'
import {
  createHomesStatement,
  createPartitionStatements,
  encodingLevel,
  schemaVersion,
  upgrades,
} from './schema-statements.ts'
import { ServerConnection, ServerError } from './server-connection.ts'
import { formatStoreAddress, type StoreAddress } from './store-address.ts'

export interface PrepareDatabaseOptions {
  readonly address: StoreAddress
  /** Position of this database in `cluster.stores`, and their number. */
  readonly store: number
  readonly stores: number
  /** Number of stored shards of the cluster, 1 to 256. Shard i is stored in database i mod `stores`. */
  readonly shards: number
  /** ID of the cluster in the first database. Undefined: this is the first database, which chooses it. */
  readonly clusterId: string | undefined
  /** Something below the server replicates it, so it needs no synchronous standby. */
  readonly isReplicated: boolean
}

export interface PreparedDatabase {
  readonly clusterId: string
  readonly encodingLevel: number
}

/** Any number: nodes that start at the same time take turns. */
const lockNumber = 4_963_214_703_126_271
const clusterIdBytes = 8
const insufficientPrivilege = '42501'

/** Rejects with StorageFailure that says what is wrong with the database and what to do. */
export async function prepareDatabase(options: PrepareDatabaseOptions): Promise<PreparedDatabase> {
  const connection = await ServerConnection.open({ address: options.address, use: 'maintenance' })
  try {
    if (connection.facts.standbyNames === '' && !options.isReplicated) {
      throw new StorageFailure(
        'synchronous_standby_names is empty, so a message is acknowledged when it is on one server only: name the standby there, or set cluster.store_is_replicated = true if the service replicates below PostgreSQL',
      )
    }
    return await runLocked(connection, options)
  } catch (error) {
    if (!(error instanceof StorageFailure)) throw error
    const advice =
      error instanceof ServerError && error.sqlState === insufficientPrivilege
        ? ': the user needs the right to create the schema godwit (GRANT CREATE ON DATABASE), or must own it'
        : ''
    throw new StorageFailure(
      `the database ${formatStoreAddress(options.address)} cannot be used: ${error.message}${advice}`,
      { cause: error },
    )
  } finally {
    await connection.close()
  }
}

async function runLocked(connection: ServerConnection, options: PrepareDatabaseOptions): Promise<PreparedDatabase> {
  const run = async (text: string): Promise<void> => void (await connection.run({ text }))
  await run('BEGIN')
  await run(`SELECT pg_advisory_xact_lock(${lockNumber})`)
  const { rows: schemas } = await connection.run({ text: `SELECT to_regnamespace('godwit')` })
  if (schemas[0]?.[0] === null) await run('CREATE SCHEMA godwit')
  const { rows: tables } = await connection.run({ text: `SELECT to_regclass('godwit.godwit_cluster')` })
  const isNew = tables[0]?.[0] === null
  const version = isNew ? 0 : await readVersion(connection)
  for (const statements of upgrades.slice(version)) for (const statement of statements) await run(statement)
  if (isNew) await insertRow(connection, options)
  else await run(`UPDATE godwit_cluster SET schema_version = ${schemaVersion} WHERE schema_version < ${schemaVersion}`)
  const prepared = await checkRow(connection, options)
  if (options.store === 0) await run(createHomesStatement(options.shards))
  for (let shard = options.store; shard < options.shards; shard += options.stores) {
    for (const statement of await listMissing(connection, shard)) await run(statement)
  }
  const { warnings } = await connection.run({ text: 'COMMIT' })
  if (warnings.length > 0) throw new StorageFailure(`the tables may be on one server only: ${warnings.join('; ')}`)
  return prepared
}

async function readVersion(connection: ServerConnection): Promise<number> {
  const { rows } = await connection.run({ text: 'SELECT schema_version FROM godwit_cluster' })
  const version = Number(rows[0]?.[0])
  if (version > schemaVersion) {
    throw new StorageFailure(
      `its tables have version ${version}; this Godwit knows versions up to ${schemaVersion}: use the newer Godwit`,
    )
  }
  return version
}

async function insertRow(connection: ServerConnection, options: PrepareDatabaseOptions): Promise<void> {
  const { store, stores, shards } = options
  const clusterId = options.clusterId ?? randomBytes(clusterIdBytes).toString('hex')
  await connection.run({
    text: `INSERT INTO godwit_cluster (cluster_id, store, stores, shards, schema_version, encoding_level)
      VALUES ($1, $2, $3, $4, $5, $6)`,
    values: [clusterId, store, stores, shards, schemaVersion, encodingLevel],
  })
}

async function checkRow(connection: ServerConnection, options: PrepareDatabaseOptions): Promise<PreparedDatabase> {
  const text = 'SELECT cluster_id, store, stores, shards, encoding_level FROM godwit_cluster'
  const [row = []] = (await connection.run({ text })).rows
  const clusterId = String(row[0])
  const [store, stores, shards, level] = row.slice(1).map(Number)
  if (options.clusterId !== undefined && clusterId !== options.clusterId) {
    throw new StorageFailure(`it belongs to cluster ${clusterId}, not to ${options.clusterId}: check cluster.stores`)
  }
  if (store !== options.store || stores !== options.stores) {
    throw new StorageFailure(
      `it is entry ${store} of ${stores} databases; cluster.stores has it as entry ${options.store} of ${options.stores}: keep their number and order`,
    )
  }
  if (shards !== options.shards) {
    throw new StorageFailure(
      `the cluster has ${shards} shards; cluster.shards is ${options.shards}: the number cannot change, set it to ${shards}`,
    )
  }
  if (level === undefined || level > encodingLevel) {
    throw new StorageFailure(
      `its records have level ${level}; this Godwit reads levels up to ${encodingLevel}: use the newer Godwit`,
    )
  }
  return { clusterId, encodingLevel: level }
}

async function listMissing(connection: ServerConnection, shard: number): Promise<readonly string[]> {
  const { rows } = await connection.run({ text: `SELECT 1 FROM shards WHERE shard = ${shard}` })
  return rows.length > 0 ? [] : createPartitionStatements(shard)
}
