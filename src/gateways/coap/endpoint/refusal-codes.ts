// Response codes of CoAP for refusals of the broker.

import { reasonCodes } from '../../../protocol/index.ts'
import { code } from './coap-message.ts'

/** Returns the response code for a reason code of MQTT that is not success. */
export function toRefusalCode(reasonCode: number): number {
  if (reasonCode === reasonCodes.badUserNameOrPassword || reasonCode === reasonCodes.notAuthorized) return code(4, 1)
  if (reasonCode === reasonCodes.banned) return code(4, 3)
  if (reasonCode === reasonCodes.clientIdentifierNotValid) return code(4, 0)
  if (reasonCode === reasonCodes.packetTooLarge) return code(4, 13)
  return code(5, 3)
}
