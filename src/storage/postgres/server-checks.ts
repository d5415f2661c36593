// What a server must be before it stores anything.

import { StorageFailure } from '../store.ts'
import type { StoreHost } from './store-address.ts'

/** The server of a connection. After a promotion, the timeline is greater. */
export interface ServerIdentity {
  readonly host: StoreHost
  /** The same for all members of a replicated database. Decimal digits. */
  readonly systemIdentifier: string
  readonly timeline: number
}

export interface ServerFacts {
  /** Number of the process that serves this connection. */
  readonly backend: number
  readonly systemIdentifier: string
  readonly timeline: number
  readonly versionNumber: number
  /** `synchronous_standby_names`; empty: a commit is on this server only. */
  readonly standbyNames: string
}

/** Earlier versions do not notice that a client is gone (`client_connection_check_interval`). */
const minVersionNumber = 140_000

/** The first eight digits of a name of a WAL file are the timeline. A server in recovery writes no WAL. */
export const serverFactsText = `SELECT pg_backend_pid(), pg_is_in_recovery(), current_setting('server_version_num'),
  current_setting('fsync'), current_setting('synchronous_standby_names'), (SELECT system_identifier FROM pg_control_system()),
  CASE WHEN pg_is_in_recovery() THEN '00000000' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END`

/** Throws StorageFailure with what is wrong and what to do. `client`: what the library received when it connected. */
export function checkServer(row: readonly (string | null)[], client: object): ServerFacts {
  const [backend, isInRecovery, version, fsync, standbyNames, systemIdentifier, timeline] = row
  const { processID } = client as { readonly processID?: unknown }
  if (String(processID) !== backend) {
    throw new StorageFailure('a connection pool is in between; name the database servers themselves')
  }
  if (isInRecovery !== 'f') throw new StorageFailure('the server is a standby')
  const versionNumber = Number(version)
  if (!(versionNumber >= minVersionNumber)) {
    const found = Math.floor(versionNumber / 10_000)
    throw new StorageFailure(`the server is PostgreSQL ${found}; 14 or later is needed`)
  }
  if (fsync !== 'on') {
    throw new StorageFailure('the server has fsync = off and loses what it confirmed; set fsync = on')
  }
  return {
    backend: Number(backend),
    systemIdentifier: systemIdentifier ?? '',
    timeline: Number.parseInt(timeline ?? '', 16),
    versionNumber,
    standbyNames: standbyNames ?? '',
  }
}
