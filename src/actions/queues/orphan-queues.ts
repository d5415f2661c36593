// Sessions of actions that are not configured any more. Stored results and dead letters stay, and raise an alarm.

import { actionClientPrefix, parseActionClientId } from '../../core/index.ts'
import type { ActionBroker } from '../action-broker.ts'
import { toAlarmName } from './queue-names.ts'

type OrphanQueuesBroker = Pick<ActionBroker, 'view' | 'commands' | 'findSessions' | 'raiseAlarm' | 'endAlarm' | 'fail'>

export class OrphanQueues {
  readonly #broker: OrphanQueuesBroker

  constructor(broker: OrphanQueuesBroker) {
    this.#broker = broker
  }

  /** Handles a session of an action that is not configured any more: ends it if it is empty. */
  handleSession(id: string, clientId: string): void {
    const stored = this.#broker.view.findInternalSession(clientId)?.spooled ?? 0
    if (stored === 0) return this.endSession(clientId)
    const text = `the action ${id} is not configured, and ${stored} messages are stored for it: configure it again, or delete it with force=true`
    this.#broker.raiseAlarm(toAlarmName(id), text)
  }

  /** Deletes the sessions of the action with their contents. */
  async discard(id: string): Promise<void> {
    for (const clientId of await this.#broker.findSessions(actionClientPrefix)) {
      if (parseActionClientId(clientId) === id) this.endSession(clientId)
    }
    this.#broker.endAlarm(toAlarmName(id), `the stored messages of the action ${id} were deleted`)
  }

  endSession(clientId: string): void {
    const { commands } = this.#broker
    commands.run({ name: 'kick', clientId, endsSession: true }).catch((error: unknown) => this.#broker.fail(error))
  }
}
