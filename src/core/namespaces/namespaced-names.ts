// Namespaces separate clients, topics and records. A client belongs to one namespace or to none; equal names in two
// namespaces are different things. Inside the broker the names of sessions and topics contain the namespace, so everything
// that is found by name (sessions, shards, records, subscriptions, retained messages) is separated without further code:
//
//   client c1 of no namespace       session c1           topic lamp
//   client c1 of namespace plant    session plant␀c1     topic $ns/plant/lamp
//
// MQTT strings do not contain U+0000 [MQTT-1.5.3-2] [MQTT5-1.5.4-2], so no client ID equals the name of a session of another
// namespace.

const separator = '\0'

/** Prefix of the topics of all namespaces. Clients without a namespace have no access to them. */
export const namespacesRoot = '$ns/'

const namespaceForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

/** Returns whether a namespace may have this name, which becomes a topic level, a part of paths and of file names. */
export function isNamespaceName(text: string): boolean {
  return namespaceForm.test(text)
}

/** Returns the name inside the broker; undefined stands for no namespace. */
export function toNamespacedName(namespace: string | undefined, name: string): string {
  return namespace === undefined ? name : `${namespace}${separator}${name}`
}

/** Returns the parts of `toNamespacedName`. */
export function splitNamespacedName(whole: string): {
  readonly namespace: string | undefined
  readonly name: string
} {
  const end = whole.indexOf(separator)
  return end === -1
    ? { namespace: undefined, name: whole }
    : { namespace: whole.slice(0, end), name: whole.slice(end + 1) }
}

/** Returns the topic prefix of a namespace; '' for none. */
export function toNamespacePrefix(namespace: string | undefined): string {
  return namespace === undefined ? '' : `${namespacesRoot}${namespace}/`
}

/** Returns the namespace of a topic; undefined if it has none. */
export function parseTopicNamespace(topic: string): string | undefined {
  if (!topic.startsWith(namespacesRoot)) return undefined
  const end = topic.indexOf('/', namespacesRoot.length)
  return end === -1 ? undefined : topic.slice(namespacesRoot.length, end)
}

/** Returns the topic as the clients of its namespace see it; undefined if it has no namespace. */
export function removeNamespacePrefix(topic: string): string | undefined {
  const namespace = parseTopicNamespace(topic)
  return namespace === undefined ? undefined : topic.slice(namespacesRoot.length + namespace.length + 1)
}

/** Number of levels of the prefix of a namespace's topics. */
export const namespaceLevels = 2

/** Returns whether a name belongs to this namespace. */
export function isOfNamespace(whole: string, namespace: string): boolean {
  return whole.length > namespace.length && whole.startsWith(namespace) && whole[namespace.length] === separator
}

const scope = '@'

/** Returns the name of a rule, connector, action or source in the configuration: `hook@plant`. Undefined stands for no namespace. */
export function toScopedName(namespace: string | undefined, name: string): string {
  return namespace === undefined ? name : `${name}${scope}${namespace}`
}

/** Returns the parts of `toScopedName`. */
export function splitScopedName(whole: string): { readonly namespace: string | undefined; readonly name: string } {
  const end = whole.lastIndexOf(scope)
  const namespace = whole.slice(end + 1)
  return end === -1 || !isNamespaceName(namespace)
    ? { namespace: undefined, name: whole }
    : { namespace, name: whole.slice(0, end) }
}
