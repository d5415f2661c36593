// Which clients a listener of mosquitto accepts, and what they may do. In mosquitto each listener can have a password file, rules and
// anonymous clients of its own (`per_listener_settings`). In Godwit these apply to all listeners. So the import takes the policy of one
// listener, and opens only the listeners that allowed at least as much:
//
//   listener 1883 127.0.0.1, anonymous   ─┐   policy of 8883: passwords and rules
//   listener 8883, passwords and rules   ─┴─► opens both: on 1883, clients need a password now
//   listener 9001, other passwords       ───► disabled, and named

import type { MosquittoConfiguration, MosquittoListener } from './configuration-reader.ts'

export interface ListenerPolicy {
  readonly allowsAnonymous: boolean
  /** Paths as in the configuration; undefined: none. */
  readonly passwordFile: string | undefined
  readonly aclFile: string | undefined
  /** What a plugin allows is unknown. */
  readonly hasPlugin: boolean
  /** The user name is the client ID too. */
  readonly usesUsernameAsClientId: boolean
  /** The client proves its user name in the handshake, and the password is not checked. */
  readonly identity: 'certificate' | 'pre-shared-key' | 'none'
  readonly requiresCertificate: boolean
  readonly acceptsPreSharedKeys: boolean
}

/** A listener with the reason why it must be disabled; undefined: it can be opened. */
export interface PlannedListener {
  readonly listener: MosquittoListener
  readonly policy: ListenerPolicy
  readonly problem: string | undefined
}

export interface ListenerPlan {
  readonly listeners: readonly PlannedListener[]
  /** The policy of the broker. */
  readonly policy: ListenerPolicy
}

const closed: ListenerPolicy = {
  allowsAnonymous: false,
  passwordFile: undefined,
  aclFile: undefined,
  hasPlugin: false,
  usesUsernameAsClientId: false,
  identity: 'none',
  requiresCertificate: false,
  acceptsPreSharedKeys: false,
}

export function planListeners(configuration: MosquittoConfiguration): ListenerPlan {
  const found = configuration.listeners.map((listener) => {
    const policy = toPolicy(listener, configuration)
    return { listener, policy, problem: findProblem(listener) ?? findMountProblem(listener, policy) }
  })
  const usable = found.filter(({ problem }) => problem === undefined).map(({ policy }) => policy)
  const policy = chooseBroadest(usable)
  const taken = new Set<ListenerPolicy['identity']>()
  for (const one of usable) if (allowsAtLeast(one, policy)) taken.add(one.identity)
  const listeners = found.map(({ problem, ...one }) => ({
    ...one,
    problem: problem ?? findConflict(one.policy, policy, taken),
  }))
  return { listeners, policy }
}

function toPolicy(listener: MosquittoListener, { security, isLocalOnly }: MosquittoConfiguration): ListenerPolicy {
  const { options, hasPlugin } = security ?? { options: listener.security, hasPlugin: listener.hasPlugin }
  const own = listener.options
  const isSet = (word: string): boolean => own.get(word) === 'true'
  const hasIdentity = isSet('use_identity_as_username') || isSet('use_subject_as_username')
  const anonymous = own.get('listener_allow_anonymous') ?? options.get('allow_anonymous') ?? String(isLocalOnly)
  return {
    allowsAnonymous: anonymous === 'true',
    passwordFile: options.get('password_file'),
    aclFile: options.get('acl_file'),
    hasPlugin,
    usesUsernameAsClientId: isSet('use_username_as_clientid'),
    identity: !hasIdentity ? 'none' : own.has('psk_hint') ? 'pre-shared-key' : 'certificate',
    requiresCertificate: isSet('require_certificate'),
    acceptsPreSharedKeys: own.has('psk_hint'),
  }
}

/** Returns the policy with which most listeners can be opened. */
function chooseBroadest(policies: readonly ListenerPolicy[]): ListenerPolicy {
  const countOpened = (one: ListenerPolicy): number => policies.filter((other) => allowsAtLeast(other, one)).length
  return (
    policies.reduce<ListenerPolicy | undefined>((best, one) => {
      if (best === undefined) return one
      return countOpened(one) > countOpened(best) ? one : best
    }, undefined) ?? closed
  )
}

/** Whether a listener with the policy `one` allowed everything that `other` allows. */
function allowsAtLeast(one: ListenerPolicy, other: ListenerPolicy): boolean {
  const hasNoChecks = one.passwordFile === undefined && one.aclFile === undefined && !one.hasPlugin
  if (one.allowsAnonymous && hasNoChecks && !one.usesUsernameAsClientId) return true
  return (
    (one.allowsAnonymous || !other.allowsAnonymous) &&
    one.passwordFile === other.passwordFile &&
    one.aclFile === other.aclFile &&
    one.hasPlugin === other.hasPlugin &&
    one.usesUsernameAsClientId === other.usesUsernameAsClientId
  )
}

const otherPolicy =
  'its users, rules or anonymous clients differ from those of the other listeners (per_listener_settings), which Godwit cannot separate'

function findConflict(
  one: ListenerPolicy,
  chosen: ListenerPolicy,
  taken: ReadonlySet<ListenerPolicy['identity']>,
): string | undefined {
  if (!allowsAtLeast(one, chosen)) return otherPolicy
  if (one.identity !== 'none' || one.allowsAnonymous) return undefined
  if (one.requiresCertificate && taken.has('certificate'))
    return 'it requires a password besides the certificate, and another listener accepts certificates without a password'
  return one.acceptsPreSharedKeys && taken.has('pre-shared-key')
    ? 'it requires a password, and another listener accepts pre-shared keys without a password'
    : undefined
}

/** With other topics in the rules, a client could do what mosquitto denied: `topic readwrite a/#` did not allow `a/x` below `mnt/`. */
function findMountProblem({ options }: MosquittoListener, { aclFile }: ListenerPolicy): string | undefined {
  if (aclFile === undefined || (options.get('mount_point') ?? '') === '') return undefined
  return 'mosquitto compares its rules with the topics below its mount point, Godwit with the topics as clients send them: change the rules'
}

/** Returns why Godwit cannot open the listener with its restrictions. */
function findProblem({ port, protocol, options }: MosquittoListener): string | undefined {
  const isSet = (word: string): boolean => options.get(word) === 'true'
  const hasIdentity = isSet('use_identity_as_username') || isSet('use_subject_as_username')
  if (port === undefined) return 'only TCP ports can be imported'
  if (protocol !== 'mqtt' && protocol !== 'websockets') return `Godwit has no listener with the protocol ${protocol}`
  if (isSet('require_certificate') && options.has('certfile') && !options.has('cafile'))
    return 'certificates of clients need the authorities in one file: name it with cafile'
  if (hasIdentity && !options.has('psk_hint') && !isSet('require_certificate'))
    return 'it takes the user name from a certificate and does not require one, so mosquitto refuses each client'
  if (options.get('mount_point')?.includes('${') === true) return 'its mount point contains ${'
  return undefined
}
