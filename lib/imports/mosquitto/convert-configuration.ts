// Converts mosquitto.conf to settings of Godwit: listeners, limits and paths of other files. What has no counterpart is left out and named.
// No client can do more than with mosquitto: a restriction that Godwit cannot express makes the import stricter, or stops it.

import type { Converted } from './converted.ts'
import type { ConfigurationFile } from './configuration-lines.ts'
import { type MosquittoConfiguration, readConfigurationFiles } from './configuration-reader.ts'
import { describeListeners } from './listener-lines.ts'
import { type ListenerPlan, planListeners } from './listener-policies.ts'
import type { SessionSource } from './sessions.ts'

export interface ConvertedConfiguration {
  /** A configuration file. */
  readonly text: string
  /** Paths as in the configuration of mosquitto; undefined: not configured, or not imported. */
  readonly passwordFile: string | undefined
  readonly aclFile: string | undefined
  /** In the ACL file, %c stands for the user name. */
  readonly usesUsernameAsClientId: boolean
  /** Undefined: nothing is persistent. */
  readonly databaseFile: string | undefined
  readonly sessionSource: SessionSource
}

/**
 * `included`: the files of each folder that the main file includes, in order. `aclFile`: name of the file with the converted access rules.
 * Throws InvalidArchive.
 */
export function convertConfiguration(
  main: ConfigurationFile,
  options: {
    readonly aclFile: string
    readonly included?: ReadonlyMap<string, readonly ConfigurationFile[]>
  },
): Converted<ConvertedConfiguration> {
  const configuration = readConfigurationFiles(main, options.included ?? new Map())
  const plan = planListeners(configuration)
  const { policy } = plan
  const listeners = describeListeners(plan, configuration.security?.options)
  const access = describeAccess(plan, configuration, options.aclFile)
  const lines = [...listeners.lines, ...configuration.settings, ...access.lines]
  return {
    value: {
      text: `# Made from mosquitto.conf by "godwit import mosquitto".\n${lines.join('\n')}\n`,
      passwordFile: policy.passwordFile,
      aclFile: policy.hasPlugin ? undefined : policy.aclFile,
      usesUsernameAsClientId: policy.usesUsernameAsClientId,
      databaseFile: resolveDatabaseFile(configuration),
      sessionSource: toSessionSource(configuration, plan),
    },
    skipped: [...configuration.skipped, ...listeners.skipped],
    stricter: [...listeners.stricter, ...access.stricter],
  }
}

interface Described {
  readonly lines: readonly string[]
  readonly stricter: readonly string[]
}

/** Settings for the clients of all listeners. */
function describeAccess(
  { listeners, policy }: ListenerPlan,
  { isLocalOnly, security }: MosquittoConfiguration,
  aclFile: string,
): Described {
  const { allowsAnonymous, passwordFile, hasPlugin, usesUsernameAsClientId } = policy
  const stricter: string[] = []
  const opened = listeners.filter(({ problem }) => problem === undefined)
  const isAnonymous = allowsAnonymous && passwordFile === undefined && !hasPlugin && !usesUsernameAsClientId
  if (allowsAnonymous && !isAnonymous)
    stricter.push(
      'allow_anonymous: clients without a known user name are refused, because here a client without a password could take any user name that has none',
    )
  const isSet = security?.options.has('allow_anonymous') ?? true
  if (!isSet && !isLocalOnly)
    stricter.push('allow_anonymous is not set: it is false, as in mosquitto 2; in mosquitto 1 it could be true')
  for (const { listener, policy: own, problem } of opened)
    if (problem === undefined && !isSamePolicy(own, policy))
      stricter.push(
        `${listener.place}: its clients get the users and rules of the other listeners (per_listener_settings)`,
      )
  if (usesUsernameAsClientId)
    stricter.push(
      'use_username_as_clientid: clients keep their client IDs; %c in the ACL file stands for the user name',
    )
  if (hasPlugin)
    stricter.push(
      'a plugin may have denied anything: no client may publish or subscribe until auth.acl.rules or auth.no_match allows it',
    )
  const lines = [`auth.allow_anonymous = ${String(isAnonymous)}`]
  if (opened.some(({ policy: { identity } }) => identity === 'certificate'))
    lines.push('auth.certificate.enable = true')
  if (opened.some(({ policy: { identity } }) => identity === 'pre-shared-key')) lines.push('auth.psk.enable = true')
  if (policy.aclFile !== undefined && !hasPlugin) lines.push(`auth.acl.file = ${JSON.stringify(aclFile)}`)
  lines.push(`auth.no_match = ${policy.aclFile !== undefined || hasPlugin ? 'deny' : 'allow'}`)
  return { lines, stricter }
}

function isSamePolicy(one: ListenerPlan['policy'], other: ListenerPlan['policy']): boolean {
  const { allowsAnonymous, passwordFile, aclFile, usesUsernameAsClientId } = other
  return (
    one.allowsAnonymous === allowsAnonymous &&
    one.passwordFile === passwordFile &&
    one.aclFile === aclFile &&
    one.usesUsernameAsClientId === usesUsernameAsClientId
  )
}

function toSessionSource({ listeners, bridgeClientIds }: MosquittoConfiguration, plan: ListenerPlan): SessionSource {
  const mountpoints = listeners.flatMap(({ port, options }): [number, string][] => {
    const mountpoint = options.get('mount_point')
    return mountpoint === undefined || port === undefined ? [] : [[port, mountpoint]]
  })
  const named = new Set(bridgeClientIds)
  const hasBridges = named.delete('')
  return {
    mountpoints: new Map(mountpoints),
    verifiesUsernames: plan.listeners.some(
      ({ policy: { hasPlugin, passwordFile, identity } }) =>
        hasPlugin || passwordFile !== undefined || identity !== 'none',
    ),
    isBridge: (clientId) => named.has(clientId) || (hasBridges && clientId.startsWith('local.')),
  }
}

function resolveDatabaseFile({ broker }: MosquittoConfiguration): string | undefined {
  if (broker.get('persistence') !== 'true') return undefined
  const folder = broker.get('persistence_location') ?? ''
  const name = broker.get('persistence_file') ?? 'mosquitto.db'
  return folder === '' || folder.endsWith('/') ? `${folder}${name}` : `${folder}/${name}`
}
