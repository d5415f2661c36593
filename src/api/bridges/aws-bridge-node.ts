// Settings in requests for a bridge to AWS IoT, which has fewer settings than other bridges. Settings that it does not
// have may be sent back unchanged.

import { isDeepStrictEqual } from 'node:util'
import { toAwsAddress, isAwsSetting } from '../../config/index.ts'
import type { BridgeNode } from './to-bridge-node.ts'
import { isSentObject, type Sent } from './read-bridge-node.ts'

/** Returns the sent settings without unchanged ones that such a bridge does not have. */
export function removeUnchanged({ connector, ...outer }: Sent, current: BridgeNode): Sent {
  const own = selectChanged(outer, current)
  if (connector === undefined) return own
  return { ...own, connector: isSentObject(connector) ? selectChanged(connector, current.connector) : connector }
}

function selectChanged(sent: Sent, current: Sent): Sent {
  return Object.fromEntries(
    Object.entries(sent).filter(([key, value]) => isAwsSetting(key) || !isDeepStrictEqual(value, current[key])),
  )
}

/** `settings`: as those of other bridges. Unknown settings stay, for the check. */
export function toAwsSettings(settings: Sent): Sent {
  const own = Object.entries(settings).filter(([key, value]) => isAwsSetting(key) || !isDefault(value))
  return { ...Object.fromEntries(own), server: toAwsAddress(settings['server']) }
}

/** Null, or a group of nulls. */
function isDefault(value: unknown): boolean {
  return value === null || (isSentObject(value) && Object.values(value).every((one) => isDefault(one)))
}
