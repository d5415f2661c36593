// What somebody sends for a bridge to AWS IoT. It is shown like any other bridge and has fewer settings: those that it has not may
// be sent back as they are shown, and otherwise not at all.

import { isDeepStrictEqual } from 'node:util'
import { addressAtAws, isAwsSetting } from '../config/index.ts'
import type { BridgeNode } from './bridge-node.ts'
import { isSentObject, type Sent } from './read-bridge-node.ts'

/** What is sent, without what such a bridge has not and is sent as it is shown. */
export function removeUnchanged({ connector, ...outer }: Sent, shown: BridgeNode): Sent {
  const own = changedIn(outer, shown)
  if (connector === undefined) return own
  return { ...own, connector: isSentObject(connector) ? changedIn(connector, shown.connector) : connector }
}

function changedIn(sent: Sent, shown: Sent): Sent {
  return Object.fromEntries(
    Object.entries(sent).filter(([key, value]) => isAwsSetting(key) || !isDeepStrictEqual(value, shown[key])),
  )
}

/** `settings`: as those of other bridges. What is named beside the settings that there are stays, for whoever checks it. */
export function awsSettingsOf(settings: Sent): Sent {
  const own = Object.entries(settings).filter(([key, value]) => isAwsSetting(key) || !isDefault(value))
  return { ...Object.fromEntries(own), server: addressAtAws(settings['server']) }
}

/** Null, or a group of which nothing else is said. */
function isDefault(value: unknown): boolean {
  return value === null || (isSentObject(value) && Object.values(value).every((one) => isDefault(one)))
}
