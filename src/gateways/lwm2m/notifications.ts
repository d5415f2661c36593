// Notifications of a device [RFC 7641], which are published as JSON.

import type { DeviceRequests } from '../coap/endpoint/device-requests.ts'
import {
  readBlock,
  type CoapMessage,
  type CoapOption,
  formatCode,
  methods,
  options,
  readUint,
} from '../coap/endpoint/coap-message.ts'
import type { PeerAddress } from '../../transports/index.ts'
import { type Command, decodeResponseContent } from './commands.ts'
import type { ObjectDefinitions } from './objects.ts'
import type { Lwm2mObservations } from './lwm2m-observations.ts'

interface Notified {
  readonly peer: PeerAddress
  /** Path and query of the observation. */
  readonly path: readonly CoapOption[]
  readonly requests: DeviceRequests
  readonly observations: Lwm2mObservations
  readonly objects: ObjectDefinitions
  publish(document: Readonly<Record<string, unknown>>): void
  /** A notification is not published, because a part of it is missing. */
  onIncomplete(): void
}

/** Publishes a notification when all of it is there. [RFC 7959 3.4] It contains only the first block of a large body: the others are read. */
export function takeNotification(command: Command, notification: CoapMessage, notified: Notified): void {
  const { token } = notification
  const block = readBlock(notification, options.block2)
  const publish = (body: Buffer): void => {
    const data = {
      reqPath: command.pathText,
      code: formatCode(notification.code),
      codeMsg: 'content',
      content: decodeResponseContent(command, { response: notification, body }, notified.objects),
    }
    const seqNum = readUint(notification, options.observe) ?? 0
    notified.publish({ ...command.received, msgType: 'notify', seqNum, data })
  }
  // A newer notification has another content than the one that is being read.
  notified.observations.cancelReading(token)
  if (block === undefined || block === 'bad' || !block.hasMore) return publish(notification.payload)
  const cancel = notified.requests.request({
    peer: notified.peer,
    token: undefined,
    begun: notification,
    message: {
      code: methods.get,
      options: [...notified.path, ...command.request.options.filter(({ number }) => number !== options.observe)],
      payload: Buffer.alloc(0),
    },
    onAcknowledged: () => {},
    onSettled: (result) => {
      if (result.outcome === 'response' && isSameBody(notification, result.response)) publish(result.body)
      else notified.onIncomplete()
    },
  })
  notified.observations.recordReading(token, cancel)
}

/** [RFC 7959 2.4] The last block must belong to the same representation as the first. */
function isSameBody(first: CoapMessage, last: CoapMessage): boolean {
  const [one, other] = [first, last].map((message) => findEtag(message))
  return first.code === last.code && (one === undefined || other === undefined || one.equals(other))
}

function findEtag(message: CoapMessage): Buffer | undefined {
  return message.options.find(({ number }) => number === options.etag)?.value
}
