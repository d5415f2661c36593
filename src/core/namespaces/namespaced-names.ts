// Namespaces: parts of the broker that know nothing of each other. A client belongs to one or to none; what is called the
// same in two of them is two things. So inside the broker a session and a topic have names that begin with the namespace,
// and everything that goes by names (sessions, shards, records, subscriptions, retained messages) keeps them apart
// without knowing why:
//
//   client c1 of no namespace       session c1           topic lamp
//   client c1 of namespace plant    session plant␀c1     topic $ns/plant/lamp
//
// Nothing that comes over MQTT has U+0000 in it [MQTT-1.5.3-2] [MQTT5-1.5.4-2], so nobody can call itself by the name of
// a session of another namespace.

const separator = '\0'

/** Before the topics of all namespaces. Who belongs to none has no part in what lies below. */
export const namespacesRoot = '$ns/'

const namespaceForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

/** Whether somebody may call a namespace so: it becomes a level of topics, part of a path and of file names. */
export function isNamespaceName(text: string): boolean {
  return namespaceForm.test(text)
}

/** The name inside the broker; undefined stands for no namespace. */
export function namespacedName(namespace: string | undefined, name: string): string {
  return namespace === undefined ? name : `${namespace}${separator}${name}`
}

/** What `namespacedName` was made of. */
export function splitNamespacedName(whole: string): {
  readonly namespace: string | undefined
  readonly name: string
} {
  const end = whole.indexOf(separator)
  return end === -1
    ? { namespace: undefined, name: whole }
    : { namespace: whole.slice(0, end), name: whole.slice(end + 1) }
}

/** Before the topics of a namespace; '' for none. */
export function namespaceTopics(namespace: string | undefined): string {
  return namespace === undefined ? '' : `${namespacesRoot}${namespace}/`
}

/** Where a topic lies; undefined: in none. */
export function namespaceOfTopic(topic: string): string | undefined {
  if (!topic.startsWith(namespacesRoot)) return undefined
  const end = topic.indexOf('/', namespacesRoot.length)
  return end === -1 ? undefined : topic.slice(namespacesRoot.length, end)
}

/** Whether a name belongs to this namespace. */
export function isOfNamespace(whole: string, namespace: string): boolean {
  return whole.length > namespace.length && whole.startsWith(namespace) && whole[namespace.length] === separator
}
