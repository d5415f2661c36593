// The connection on which a node runs the transactions of the membership, and what a new home does before it reads its shard.

import type { MembershipTransaction } from '../../../cluster/index.ts'
import { StorageFailure } from '../../store.ts'
import { type MembershipReading, parseMembershipReading, writeMembershipScript } from './membership-script.ts'
import { probeBackend } from '../probe-backend.ts'
import type { ServerIdentity } from '../server-checks.ts'
import { ServerConnection } from '../server-connection.ts'
import type { StoreAddress, StoreHost } from '../store-address.ts'

export interface MembershipConnectionOptions {
  readonly address: StoreAddress
  /** Something below the server replicates it, so it needs no synchronous standby. */
  readonly isReplicated: boolean
}

/** A transaction that takes longer is looked up on another connection. */
const slowMs = 2_000

export class MembershipConnection {
  readonly #options: MembershipConnectionOptions
  readonly #connection: ServerConnection

  private constructor(options: MembershipConnectionOptions, connection: ServerConnection) {
    this.#options = options
    this.#connection = connection
  }

  /**
   * Connects to the host that was promoted last: an old primary that lives on still accepts writes. Rejects with StorageFailure, which
   * names each host with its problem.
   */
  static async open(options: MembershipConnectionOptions): Promise<MembershipConnection> {
    const { opened, problems } = await openHosts(options.address)
    const [best, ...others] = opened.toSorted((a, b) => b.server.timeline - a.server.timeline)
    for (const connection of others) connection.destroy()
    if (best === undefined) throw new StorageFailure(`no server of the database can be used: ${problems.join('; ')}`)
    return new MembershipConnection(options, best)
  }

  get server(): ServerIdentity {
    return this.#connection.server
  }

  /**
   * Resolves with the rows when the commit is on the standby. A rejection means that the outcome is unknown. A transaction waits as long as
   * the server works on it, and no other host was promoted.
   */
  async run(transaction: MembershipTransaction): Promise<MembershipReading> {
    const running = this.#connection.runScript(writeMembershipScript(transaction))
    const { results, warnings } = await this.#awaitResult(running)
    if (warnings.length > 0)
      throw new StorageFailure(`the transaction may be on one server only: ${warnings.join('; ')}`)
    const reading = parseMembershipReading(results.at(-2)?.[0]?.[0])
    if (reading.standbyNames === '' && !this.#options.isReplicated) {
      throw new StorageFailure(
        'synchronous_standby_names is empty, so the transaction is on one server only; name the standby there',
      )
    }
    return reading
  }

  /** Ends the connection at once. */
  destroy(): void {
    this.#connection.destroy()
  }

  async #awaitResult<Result>(running: Promise<Result>): Promise<Result> {
    for (;;) {
      const { promise: slow, resolve } = Promise.withResolvers<undefined>()
      const timer = setTimeout(() => resolve(undefined), slowMs)
      try {
        const result = await Promise.race([running, slow])
        if (result !== undefined) return result
      } finally {
        clearTimeout(timer)
      }
      await this.#checkSlow(running)
    }
  }

  async #checkSlow(running: Promise<unknown>): Promise<void> {
    try {
      await probeBackend(this.#options.address, this.#connection)
      await this.#checkOtherHosts()
    } catch (error) {
      // The connection is destroyed by its owner, which rejects the statement.
      running.catch(ignore)
      throw error
    }
  }

  async #checkOtherHosts(): Promise<void> {
    const { host, timeline } = this.#connection.server
    const others = this.#options.address.hosts.filter((other) => other.host !== host.host || other.port !== host.port)
    const { opened } = await openHosts({ ...this.#options.address, hosts: others })
    for (const connection of opened) connection.destroy()
    const promoted = opened.find(({ server }) => server.timeline > timeline)
    if (promoted !== undefined) throw new StorageFailure('another server was promoted')
  }
}

const ignore = (): void => {}

async function openHosts(address: StoreAddress) {
  const open = (host: StoreHost): Promise<ServerConnection> => ServerConnection.open({ address, host, use: 'commit' })
  const results = await Promise.allSettled(address.hosts.map(open))
  return {
    opened: results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])),
    problems: results.flatMap((result) => (result.status === 'rejected' ? [describeError(result.reason)] : [])),
  }
}

function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/**
 * Makes a life the writer of a shard in its database: later statements of earlier homes have no effect. Resolves with whether it is the
 * writer; false: a later home is. Rejects with StorageFailure if the outcome is unknown, after which it is repeated.
 */
export async function claimShard(
  address: StoreAddress,
  { shard, epoch, life }: { readonly shard: number; readonly epoch: number; readonly life: string },
): Promise<boolean> {
  const connection = await ServerConnection.open({ address, use: 'commit' })
  try {
    // The row is written in any case, so that the commit waits for the standby.
    const { rows, warnings } = await connection.run({
      text: `UPDATE shards SET
          attempt = CASE WHEN epoch < $2 THEN 0 ELSE attempt END,
          life = CASE WHEN epoch < $2 THEN $3 ELSE life END,
          epoch = greatest(epoch, $2)
        WHERE shard = $1 RETURNING epoch, life`,
      values: [shard, epoch, life],
    })
    if (warnings.length > 0) throw new StorageFailure(`the take-over may be on one server only: ${warnings.join('; ')}`)
    const [row] = rows
    if (row === undefined) throw new StorageFailure(`the database has no shard ${shard}; check cluster.stores`)
    return Number(row[0]) === epoch && row[1] === life
  } finally {
    connection.destroy()
  }
}
