// The sources of a shard that receive from services. Each belongs to one shard, by the name of its client. Sources of MQTT are bridges: see
// `bridges/`.

import { isDeepStrictEqual } from 'node:util'
import { toBridgeClientId, computeOwnerShard, toSourceBridgeName } from '../../core/index.ts'
import type { SourceAssignment, SourceService } from '../plan/rule-plan.ts'
import type { SourceReport } from '../plan/rule-reports.ts'
import type { ActionBroker } from '../action-broker.ts'
import type { AlarmName } from '../../telemetry/index.ts'
import { type LibraryName, type SourceConnection, sourceTypes, usesLibrary } from '../../sinks/index.ts'
import { ServiceSource } from './service-source.ts'
import { SourcePublisher } from './source-publisher.ts'
import type { PacketLimits } from '../../protocol/index.ts'

/** After this time without a response of the service, the state has a reason. */
const maxSilenceMs = 2_000

type SourceBroker = Pick<
  ActionBroker,
  'own' | 'shards' | 'log' | 'limits' | 'openConnection' | 'raiseAlarm' | 'endAlarm' | 'fail'
>

interface RunningSource {
  readonly assignment: SourceAssignment
  readonly source: ServiceSource
  isStopped: boolean
}

export class SourceManager {
  readonly #broker: SourceBroker
  readonly #sources = new Map<string, RunningSource>()
  #isClosed = false

  constructor(broker: SourceBroker) {
    this.#broker = broker
  }

  /** Replaces the sources. Their settings were checked. */
  configure(assignments: readonly SourceAssignment[]): void {
    if (this.#isClosed) return
    const own = new Map(assignments.filter(({ id }) => this.#isLocal(id)).map((each) => [each.id, each]))
    for (const [id, running] of this.#sources) {
      if (isDeepStrictEqual(own.get(id), running.assignment)) continue
      running.source.stop('the configuration has changed')
      this.#sources.delete(id)
      this.#broker.endAlarm(toAlarmName(id), `the configuration of the source ${id} has changed`)
    }
    for (const [id, assignment] of own) {
      if (this.#sources.has(id) || assignment.service === undefined) continue
      this.#sources.set(id, this.#start(assignment, assignment.service))
    }
  }

  listReports(): readonly SourceReport[] {
    return [...this.#sources.values()].map(({ source }) => source.report())
  }

  /** Starts, stops or restarts a source. This lasts until the next change of the configuration or the next start. */
  control(id: string, operation: 'start' | 'stop' | 'restart'): void {
    const running = this.#sources.get(id)
    if (running === undefined || running.assignment.service?.source.enable !== true) return
    if (operation !== 'start' && !running.isStopped) running.source.stop('stopped by an administrator')
    if (operation === 'stop') running.isStopped = true
    else if (operation === 'restart' || running.isStopped) {
      running.isStopped = false
      running.source.start()
    }
  }

  /** Closes the connections of sources that use a failed library, and opens them again after the delay. */
  restartUsers(library: LibraryName, why: string, delayMs: number): void {
    for (const { assignment, source, isStopped } of this.#sources.values())
      if (!isStopped && assignment.service !== undefined && usesLibrary(assignment.service.type, library))
        source.restart(why, delayMs)
  }

  stop(): void {
    this.#isClosed = true
    for (const { source } of this.#sources.values()) source.stop('the broker stops')
  }

  #isLocal(id: string): boolean {
    const { shards, own } = this.#broker
    return computeOwnerShard(toBridgeClientId(toSourceBridgeName(id)), shards) === own
  }

  #start(assignment: SourceAssignment, { type, source, connector }: SourceService): RunningSource {
    const { id } = assignment
    const broker = this.#broker
    const readLimits = (): PacketLimits => this.#broker.limits()
    const runGuarded = (work: () => void): void => {
      try {
        work()
      } catch (error) {
        broker.fail(error)
      }
    }
    const runAfter = (delayMs: number, work: () => void): { cancel(): void } => {
      const timer = setTimeout(() => runGuarded(work), delayMs)
      return { cancel: () => clearTimeout(timer) }
    }
    const publisher = new SourcePublisher({
      source: id,
      openConnection: (stream) => broker.openConnection(stream),
      readLimits,
      runGuarded,
      after: runAfter,
    })
    const running = new ServiceSource({
      id,
      open: (callbacks) =>
        watchOpening(sourceTypes[type].open(id, source, connector, callbacks), () =>
          running.handleSilence(maxSilenceMs),
        ),
      publisher,
      readMaxPacketBytes: () => readLimits().maxPacketBytes,
      after: runAfter,
      random: Math.random,
      onStateChange: (state, why) => this.#handleState(id, state, why),
      fail: (error) => broker.fail(error),
    })
    if (source.enable && connector.enable) running.start()
    else {
      running.stop(source.enable ? 'the connector is disabled' : 'the source is disabled')
      broker.log.debug('source disabled', { source: id })
    }
    return { assignment, source: running, isStopped: false }
  }

  #handleState(id: string, state: SourceReport['state'], why: string): void {
    const { log, raiseAlarm, endAlarm } = this.#broker
    if (state === 'connecting' && why !== '') log.debug('source gets no response', { source: id, reason: why })
    else if (state === 'connected') {
      log.info('source connected', { source: id })
      endAlarm(toAlarmName(id), `the source ${id} receives again`)
    } else if (state === 'disconnected' && !this.#isClosed) {
      log.warn('source disconnected', { source: id, reason: why })
      const isWanted = this.#sources.get(id)?.isStopped === false
      if (isWanted) raiseAlarm(toAlarmName(id), `the source ${id} does not receive: ${why}`)
    }
  }
}

/** Calls `noteSilence` if the connection takes longer to open than `maxSilenceMs`. */
async function watchOpening(opening: Promise<SourceConnection>, noteSilence: () => void): Promise<SourceConnection> {
  const timer = setTimeout(noteSilence, maxSilenceMs)
  try {
    return await opening
  } finally {
    clearTimeout(timer)
  }
}

function toAlarmName(id: string): AlarmName {
  return `source:${id}`
}
