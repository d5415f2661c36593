// Forms of texts in Kubernetes.

import type { TextForm } from './field-types.ts'

const dnsLabelPattern = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'

/** Names of pods, containers, volumes: RFC 1123. */
export const dnsLabel: TextForm = {
  pattern: `^${dnsLabelPattern}$`,
  name: 'a DNS label: lower-case letters, digits and -, beginning and ending with a letter or digit',
}

/** Names of most objects: RFC 1123. */
export const dnsName: TextForm = {
  pattern: `^${dnsLabelPattern}(\\.${dnsLabelPattern})*$`,
  name: 'a DNS name: lower-case letters, digits, - and dots',
}

/** Keys of labels, annotations, selectors and resources: a name, optionally after a DNS name and a slash. */
export const qualifiedName: TextForm = {
  pattern: `^(${dnsLabelPattern}(\\.${dnsLabelPattern})*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`,
  name: 'a name of at most 63 letters, digits, -, _ and dots, optionally after a DNS name and a slash',
}

export const labelValue: TextForm = {
  pattern: '^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$',
  name: 'a value of a label: letters, digits, -, _ and dots, beginning and ending with a letter or digit',
}

/** Keys of ConfigMaps and Secrets. */
export const dataKey: TextForm = {
  pattern: '^[-._A-Za-z0-9]+$',
  name: 'a key of a Secret or ConfigMap: letters, digits, -, _ and dots',
}

export const absolutePath: TextForm = { pattern: '^/[^:]*$', name: 'an absolute path without a colon' }

export const environmentName: TextForm = {
  pattern: '^[ -<>-~]+$',
  name: 'a name of a variable: printable ASCII characters without =',
}

/** Reference of a container image: https://github.com/distribution/reference. */
export const imageReference: TextForm = {
  pattern:
    '^([A-Za-z0-9.-]+(:[0-9]+)?/|\\[[0-9A-Fa-f:]+\\](:[0-9]+)?/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@[A-Za-z0-9_+.-]+:[0-9A-Fa-f]{32,})?$',
  name: 'a reference of an image such as registry.example/godwit:1.0',
}

/** A duration of Prometheus. */
export const prometheusDuration: TextForm = {
  pattern: '^[0-9]+(ms|s|m|h)$',
  name: 'a duration such as 30s',
}
