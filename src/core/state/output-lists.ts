// The outputs of the core since the driver took them last.

import type { Connection } from '../model/connection.ts'
import type { BrokerEvent, Close, CoreRequest, Outputs, ReaderChange } from '../model/outputs.ts'
import { PeerSendList } from '../model/peer-send-list.ts'
import { SendList } from '../model/send-list.ts'

export class OutputLists implements Outputs {
  readonly sends = new SendList()
  readonly requests: CoreRequest[] = []
  readonly closes: Close[] = []
  readonly readerChanges: ReaderChange[] = []
  readonly drains: Connection[] = []
  readonly events: BrokerEvent[] = []
  readonly peerSends = new PeerSendList()

  clear(): void {
    this.sends.clear()
    clearList(this.requests)
    clearList(this.closes)
    clearList(this.readerChanges)
    clearList(this.drains)
    clearList(this.events)
    if (this.peerSends.length > 0) this.peerSends.clear()
  }
}

/** Most lists are usually empty, and truncating an array costs time even if it is empty. */
function clearList(list: unknown[]): void {
  if (list.length > 0) list.length = 0
}
