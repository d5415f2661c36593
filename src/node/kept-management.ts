// The management API through changes of its own settings: the answer to the change leaves by the old server, then there
// is a new one. Where that cannot be, the old settings serve on.

import type { GodwitConfig } from '../config/index.ts'
import type { ConfigOwner, Problem } from './configuration/config-owners.ts'
import { type ManagementGround, problemOfManagement, type RunningManagement, startManagement } from './management.ts'

export interface KeptManagement extends RunningManagement {
  /** Of `http_server`. */
  readonly owner: ConfigOwner
}

/** So long the answer may take to leave. A request that is under way longer is waited for. */
const answerLeavesWithinMs = 50

/** A problem is a sentence for the operator. */
export async function keepManagement(ground: ManagementGround): Promise<KeptManagement | Problem> {
  const first = await startManagement(ground)
  if ('problem' in first) return first
  const keeper = new Keeper(ground, first)
  const owner: ConfigOwner = {
    owns: (key) => key.startsWith('http_server.'),
    apply: (config) => keeper.change(config),
  }
  return { ...first, owner, close: () => keeper.close() }
}

class Keeper {
  readonly #ground: ManagementGround
  #running: RunningManagement
  #inForce: GodwitConfig
  #wanted: GodwitConfig
  #timer: NodeJS.Timeout | undefined
  /** The restart that is under way, or the last one. */
  #restart: Promise<void>
  #isClosed: boolean

  constructor(ground: ManagementGround, running: RunningManagement) {
    this.#ground = ground
    this.#running = running
    this.#inForce = ground.config
    this.#wanted = ground.config
    this.#timer = undefined
    this.#restart = Promise.resolve()
    this.#isClosed = false
  }

  async change(config: GodwitConfig): Promise<Problem | undefined> {
    const problem = await problemOfManagement(config)
    if (problem !== undefined) return problem
    this.#wanted = config
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#restart = this.#restart.then(() => this.#serveAnew())
    }, answerLeavesWithinMs)
    return undefined
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#restart
    await this.#running.close()
  }

  async #serveAnew(): Promise<void> {
    const config = this.#wanted
    if (this.#isClosed || config === this.#inForce) return
    await this.#running.close()
    const started = await startManagement({ ...this.#ground, config })
    if (!('problem' in started)) {
      this.#running = started
      this.#inForce = config
      return
    }
    this.#ground.log.error('the API serves on with its settings from before', { why: started.problem })
    const again = await startManagement({ ...this.#ground, config: this.#inForce })
    if (!('problem' in again)) this.#running = again
    else this.#ground.log.error('the API is not served over HTTP', { why: again.problem })
  }
}
