// `spec.emqxTemplate`: what the broker is to do.

import {
  boolean,
  bytes,
  choice,
  integer,
  listOf,
  object,
  openValue,
  optional,
  required,
  text,
  withDefault,
} from './field-types.ts'
import { annotationMap, labelMap } from './kubernetes-fields.ts'
import { dnsName } from './text-forms.ts'

/** The ports of the listener, in the order of the Service. */
export const portNames = ['mqtt', 'mqtts', 'ws', 'wss', 'api', 'dashboard'] as const
export type PortName = (typeof portNames)[number]

/** Ports if none is given. */
export const defaultPorts: Readonly<Record<PortName, number>> = {
  mqtt: 1_883,
  mqtts: 8_883,
  ws: 8_083,
  wss: 8_084,
  api: 8_081,
  dashboard: 18_083,
}

const port = integer({ min: 0, max: 65_535 })

const ports = object({
  mqtt: optional(port, 'Port of MQTT over TCP; 0: none.'),
  mqtts: optional(port, 'Port of MQTT over TLS; 0: none. It needs a certificate.'),
  ws: optional(port, 'Port of MQTT over WebSocket; 0: none.'),
  wss: optional(port, 'Port of MQTT over WebSocket and TLS; 0: none. It needs a certificate.'),
  api: optional(port, 'Port of the management API; 0: 8081.'),
  dashboard: optional(port, 'Port of the dashboard; 0: none.'),
})

const nodePorts = object({
  mqtt: optional(port, 'Port of the nodes for MQTT over TCP; 0: chosen by Kubernetes.'),
  mqtts: optional(port, 'Port of the nodes for MQTT over TLS; 0: chosen by Kubernetes.'),
  ws: optional(port, 'Port of the nodes for MQTT over WebSocket; 0: chosen by Kubernetes.'),
  wss: optional(port, 'Port of the nodes for MQTT over WebSocket and TLS; 0: chosen by Kubernetes.'),
  api: optional(port, 'Port of the nodes for the management API; 0: chosen by Kubernetes.'),
  dashboard: optional(port, 'Port of the nodes for the dashboard; 0: chosen by Kubernetes.'),
})

/** A Secret has at most 1 MiB. */
const maxPemCharacters = 131_072
const maxBase64Characters = 174_764
const certificateBytes = bytes(maxBase64Characters)
const pem = text({ maxLength: maxPemCharacters })

const certificate = object({
  data: optional(
    object({
      'ca.cert': optional(certificateBytes, 'Certificates of the authorities, PEM in base64.', {
        spellings: ['ca.crt'],
      }),
      'tls.cert': optional(certificateBytes, 'Certificate and intermediate certificates, PEM in base64.', {
        spellings: ['tls.crt'],
      }),
      'tls.key': optional(certificateBytes, 'Private key, PEM in base64.'),
    }),
    'Certificate and key in base64.',
  ),
  stringData: optional(
    object({
      'ca.cert': optional(pem, 'Certificates of the authorities, PEM.', { spellings: ['ca.crt'] }),
      'tls.cert': optional(pem, 'Certificate and intermediate certificates, PEM.', { spellings: ['tls.crt'] }),
      'tls.key': optional(pem, 'Private key, PEM.'),
    }),
    'Certificate and key as text. Each key replaces that of data.',
  ),
  secretName: optional(
    text({ form: dnsName, maxLength: 253 }),
    'Secret of type kubernetes.io/tls in the same namespace. It excludes data and stringData.',
  ),
})

const listener = object({
  labels: optional(labelMap, 'Labels of the Service.'),
  annotations: optional(annotationMap, 'Annotations of the Service.'),
  type: withDefault(
    choice(['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName']),
    'ClusterIP',
    'Type of the Service.',
  ),
  externalIPs: optional(
    listOf(text({ maxLength: 64 }), { maxItems: 32, itemName: 'address' }),
    'Addresses of nodes at which the Service is reached as well.',
  ),
  externalName: optional(text({ form: dnsName, maxLength: 253 }), 'DNS name, if type is ExternalName.'),
  externalTrafficPolicy: optional(
    choice(['Cluster', 'Local']),
    'Whether nodes without a pod forward connections from outside. Local keeps the address of the client. Only for NodePort and LoadBalancer.',
  ),
  loadBalancerIP: optional(
    text({ maxLength: 64 }),
    'Address of the load balancer. Only for LoadBalancer; providers that do not support it ignore it.',
  ),
  loadBalancerSourceRanges: optional(
    listOf(text({ maxLength: 64 }), { maxItems: 64, itemName: 'network' }),
    'Networks whose clients reach the load balancer.',
  ),
  management: withDefault(
    choice(['service', 'inside']),
    'service',
    'inside: the ports api and dashboard are not in the Service, only in the headless one.',
  ),
  ports: optional(
    ports,
    'Ports. If none is given: 1883, 8883, 8083, 8084, 8081 and 18083; otherwise only those and api.',
  ),
  nodePorts: optional(nodePorts, 'Ports of the nodes, for NodePort and LoadBalancer.'),
  certificate: optional(
    object({
      mqtts: optional(certificate, 'Certificate of MQTT over TLS.'),
      wss: optional(certificate, 'Certificate of MQTT over WebSocket and TLS; default: that of mqtts.'),
    }),
    'Certificates of the listeners with TLS.',
  ),
})

const topicFilter = text({ minLength: 1, maxLength: 4_096 })

export const aclRules = listOf(
  object({
    permission: required(choice(['allow', 'deny']), 'Whether the action is allowed.'),
    username: optional(text({ maxLength: 4_096 }), 'User name of the clients.'),
    clientid: optional(text({ maxLength: 4_096 }), 'Client ID of the clients.'),
    ipaddress: optional(text({ maxLength: 64 }), 'Address or network of the clients.'),
    action: optional(choice(['publish', 'subscribe']), 'Action; absent: both.'),
    topics: optional(
      object({
        filter: optional(listOf(topicFilter, { maxItems: 256, itemName: 'filter' }), 'Topic filters.'),
        equal: optional(
          listOf(topicFilter, { maxItems: 256, itemName: 'topic' }),
          'Topics that are compared literally.',
        ),
      }),
      'Topics; absent: all.',
    ),
  }),
  { maxItems: 1_000, itemName: 'rule' },
)

const featureName = text({ minLength: 1, maxLength: 128 })

export const brokerTemplate = object({
  license: optional(text({ maxLength: 65_536 }), 'License of other products. It is accepted without effect.'),
  listener: optional(listener, 'Ports, Service and certificates.'),
  acl: optional(aclRules, 'Access rules, in order. Absent: the default rules. Empty: no rules.'),
  plugins: optional(
    listOf(
      object({
        name: required(featureName, 'Name of the plugin.'),
        enable: optional(boolean, 'Whether it is enabled; default false.'),
      }),
      { maxItems: 64, key: 'name', itemName: 'plugin' },
    ),
    'Plugins of other products, which are built in.',
  ),
  modules: optional(
    listOf(
      object({
        name: required(featureName, 'Name of the module.'),
        enable: optional(boolean, 'Whether it is enabled; default false.'),
        configs: optional(openValue, 'Options of the module: an object, or a text with JSON.'),
      }),
      { maxItems: 64, key: 'name', itemName: 'module' },
    ),
    'Modules of other products, which are built in.',
  ),
})
