// Every refused case: a fault names the field, the line, the reason and the remedy.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { validateText } from '../../src/manifests/index.ts'
import type { Fault } from '../../src/deploy/index.ts'
import { Authority } from '../transports/certificates.ts'
import { certificate } from './examples.ts'
import { checkRefused } from './check-refused.ts'
import { listFaults, validateCluster, type ResourceParts } from './resources.ts'

function readLine(text: string, { line }: Fault): string {
  return text.split('\n')[line - 1] ?? ''
}

const listener = (fields: object): object => ({ emqxTemplate: { listener: fields } })
const listenerPath = 'spec.emqxTemplate.listener'

function createCertificate(mqtts: object): object {
  return { emqxTemplate: { listener: { certificate: { mqtts } } } }
}

function createAcl(rule: object): object {
  return { emqxTemplate: { acl: [rule] } }
}

test('names, kinds and versions', () => {
  const long = 'a'.repeat(53)
  const nameMessage = 'the name is no DNS label, or is too long for the pods of a StatefulSet'
  const cases: readonly (readonly [ResourceParts, readonly string[]])[] = [
    [{ metadata: { name: long } }, [`metadata.name: ${nameMessage}`]],
    [{ metadata: { name: 'a.b' } }, [`metadata.name: ${nameMessage}`]],
    [{ metadata: { name: 'A' } }, [`metadata.name: ${nameMessage}`]],
    [{ metadata: { name: '-a' } }, [`metadata.name: ${nameMessage}`]],
    [{ metadata: { name: 12 } }, ['metadata.name: "12" is not a text']],
    [{ metadata: {} }, ['metadata.name: the field is missing']],
    [{ metadata: { name: 'a', namespace: 'b.c' } }, ['metadata.namespace: this is not a name of a namespace']],
    [{ metadata: { name: 'a', labels: { 'a b': 'x' } } }, ['metadata.labels["a b"]: the key is not valid']],
    [{ kind: 'Pod' }, ['kind: "Pod" is not a kind of this operator']],
    [{ apiVersion: 'apps.godwit.io/v1' }, ['apiVersion: "apps.godwit.io/v1" is not the version of the resource']],
    [{ apiVersion: 'apps.emqx.io/v1beta2' }, ['apiVersion: "apps.emqx.io/v1beta2" is not the version of the resource']],
  ]
  for (const [parts, faults] of cases) assert.deepEqual(listFaults(validateCluster({}, parts).faults), faults)
  assert.deepEqual(validateCluster({}, { metadata: { name: 'a'.repeat(52) } }).faults, [])
  const empty = validateText('apiVersion: apps.godwit.io/v1beta2\nkind: GodwitCluster\nmetadata: {name: a}\n')
  assert.deepEqual(listFaults(empty.faults), ['spec: the field is missing'])
})

test('types, numbers and choices', () => {
  checkRefused([
    { spec: { image: '' }, faults: ['spec.image: the text is empty'] },
    { spec: { image: 'Has Spaces' }, faults: ['spec.image: "Has Spaces" is not valid'] },
    { spec: { replicas: -1 }, faults: ['spec.replicas: -1 is out of range'] },
    { spec: { replicas: 1.5 }, faults: ['spec.replicas: "1.5" is not a whole number'] },
    { spec: { replicas: '3' }, faults: ['spec.replicas: "3" is not a whole number'] },
    { spec: { imagePullPolicy: 'Sometimes' }, faults: ['spec.imagePullPolicy: "Sometimes" is not known'] },
    { spec: { paused: 'no' }, faults: ['spec.paused: "no" is not true or false'] },
    { spec: { env: {} }, faults: ['spec.env: an object is not a list'] },
    { spec: { labels: [] }, faults: ['spec.labels: a list is not an object'] },
    { spec: { labels: { a: true } }, faults: ['spec.labels.a: "true" is not a text'] },
    { spec: { affinity: 'x' }, faults: ['spec.affinity: "x" is not an object'] },
    { spec: { terminationGracePeriodSeconds: 0 }, faults: ['spec.terminationGracePeriodSeconds: 0 is out of range'] },
    {
      spec: { podDisruptionBudget: { maxUnavailable: 'all' } },
      faults: ['spec.podDisruptionBudget.maxUnavailable: "all" is not a number or a percentage such as 25%'],
    },
    { spec: { podMonitor: { interval: '5 minutes' } }, faults: ['spec.podMonitor.interval: "5 minutes" is not valid'] },
  ])
})

test('ports', () => {
  checkRefused([
    { spec: listener({ ports: { mqtt: 65_536 } }), faults: [`${listenerPath}.ports.mqtt: 65536 is out of range`] },
    { spec: listener({ ports: { mqtt: -1 } }), faults: [`${listenerPath}.ports.mqtt: -1 is out of range`] },
    {
      spec: listener({ ports: { mqtt: 1883, ws: 1883 } }),
      faults: [`${listenerPath}.ports.ws: 1883 is the number of mqtt as well`],
    },
    {
      spec: listener({ ports: { mqtt: 8081 } }),
      faults: [`${listenerPath}.ports.api: 8081 is the number of mqtt as well`],
    },
    { spec: listener({ ports: { mqtt: 0 } }), faults: [`${listenerPath}.ports: no port for MQTT is opened`] },
    { spec: listener({ ports: { api: 8081 } }), faults: [`${listenerPath}.ports: no port for MQTT is opened`] },
    { spec: listener({ ports: { mqtts: 8883 } }), faults: [`${listenerPath}.ports: no port for MQTT is opened`] },
    {
      spec: listener({ nodePorts: { mqtt: 31_883 } }),
      faults: [`${listenerPath}.nodePorts: nodePorts are only for the types NodePort and LoadBalancer`],
    },
    {
      spec: listener({ type: 'NodePort', nodePorts: { mqtt: 1883 } }),
      faults: [`${listenerPath}.nodePorts.mqtt: the port of the nodes is not in the range of Kubernetes`],
    },
    {
      spec: listener({ type: 'NodePort', nodePorts: { mqtt: 31_883, ws: 31_883 } }),
      faults: [`${listenerPath}.nodePorts.ws: 31883 is the number of mqtt as well`],
    },
    {
      spec: listener({ type: 'NodePort', ports: { mqtt: 1883 }, nodePorts: { ws: 31_883 } }),
      faults: [`${listenerPath}.nodePorts.ws: there is no such port`],
    },
  ])
})

test('the Service', () => {
  checkRefused([
    { spec: listener({ type: 'Public' }), faults: [`${listenerPath}.type: "Public" is not known`] },
    {
      spec: listener({ loadBalancerSourceRanges: ['10.0.0.0/8'] }),
      faults: [`${listenerPath}.loadBalancerSourceRanges: source ranges are only for the type LoadBalancer`],
    },
    {
      spec: listener({ type: 'LoadBalancer', loadBalancerSourceRanges: ['10.0.0.0/33', '10.0.0.1'] }),
      faults: [0, 1].map((index) => `${listenerPath}.loadBalancerSourceRanges[${index}]: this is not a network`),
    },
    {
      spec: listener({ externalIPs: ['10.0.0.256', 'host'] }),
      faults: [0, 1].map((index) => `${listenerPath}.externalIPs[${index}]: this is not an IP address`),
    },
    {
      spec: listener({ type: 'LoadBalancer', loadBalancerIP: 'host' }),
      faults: [`${listenerPath}.loadBalancerIP: this is not an IP address`],
    },
    {
      spec: listener({ type: 'ExternalName' }),
      faults: [`${listenerPath}.externalName: externalName and the type ExternalName need each other`],
    },
    {
      spec: listener({ externalName: 'a.example' }),
      faults: [`${listenerPath}.externalName: externalName and the type ExternalName need each other`],
    },
    {
      spec: listener({ externalTrafficPolicy: 'Local' }),
      faults: [
        `${listenerPath}.externalTrafficPolicy: externalTrafficPolicy is only for the types NodePort and LoadBalancer`,
      ],
    },
    {
      spec: listener({ labels: { 'app.kubernetes.io/name': 'x' } }),
      faults: [`${listenerPath}.labels["app.kubernetes.io/name"]: the operator sets this label`],
    },
  ])
})

test('tolerations', () => {
  const at = 'spec.tolerations[0]'
  checkRefused([
    {
      spec: { tolerations: [{ value: 'a' }] },
      faults: [`${at}.key: a toleration without a key needs the operator Exists`],
    },
    {
      spec: { tolerations: [{ key: 'a', operator: 'Exists', value: 'b' }] },
      faults: [`${at}.value: the operator Exists has no value`],
    },
    {
      spec: { tolerations: [{ key: 'a', effect: 'NoSchedule', tolerationSeconds: 1 }] },
      faults: [`${at}.tolerationSeconds: tolerationSeconds is only for the effect NoExecute`],
    },
    { spec: { tolerations: [{ key: 'a', effect: 'Never' }] }, faults: [`${at}.effect: "Never" is not known`] },
  ])
  assert.deepEqual(
    validateCluster({ tolerations: [{ key: 'a', effect: 'NoExecute', tolerationSeconds: -5 }, { operator: 'Exists' }] })
      .faults,
    [],
  )
})

test('variables', () => {
  const at = 'spec.env[0]'
  const secretKeyRef = { name: 'a', key: 'b' }
  checkRefused([
    { spec: { env: [{ value: 'x' }] }, faults: [`${at}.name: the field is missing`] },
    { spec: { env: [{ name: 'A=B' }] }, faults: [`${at}.name: "A=B" is not valid`] },
    { spec: { env: [{ name: 'A', value: 1 }] }, faults: [`${at}.value: "1" is not a text`] },
    {
      spec: { env: [{ name: 'A' }, { name: 'B' }, { name: 'A' }] },
      faults: ['spec.env[2].name: the variable "A" is there twice: see item 0'],
    },
    {
      spec: { env: [{ name: 'A', value: 'x', valueFrom: { secretKeyRef } }] },
      faults: [`${at}.valueFrom: a variable has either value or valueFrom`],
    },
    {
      spec: { env: [{ name: 'A', valueFrom: { secretKeyRef, fieldRef: { fieldPath: 'metadata.name' } } }] },
      faults: [`${at}.valueFrom: valueFrom has exactly one source`],
    },
    { spec: { env: [{ name: 'A', valueFrom: {} }] }, faults: [`${at}.valueFrom: valueFrom has exactly one source`] },
    {
      spec: { env: [{ name: 'A', valueFrom: { secretKeyRef: {} } }] },
      faults: [
        `${at}.valueFrom.secretKeyRef.name: the field is missing`,
        `${at}.valueFrom.secretKeyRef.key: the field is missing`,
      ],
    },
    {
      spec: { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'spec.image' } } }] },
      faults: [`${at}.valueFrom.fieldRef.fieldPath: a variable cannot have this field of a pod`],
    },
    {
      spec: { env: [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'cpu' } } }] },
      faults: [`${at}.valueFrom.resourceFieldRef.resource: a variable cannot have this resource of a container`],
    },
    ...['POD_NAME', 'GODWIT_ADMIN_PASSWORD', 'GODWIT_DATA'].map((name) => ({
      spec: { env: [{ name, value: 'x' }] },
      faults: [`${at}.name: the operator or the broker uses this variable`],
    })),
  ])
  assert.deepEqual(validateCluster({ env: [{ name: 'A', value: '', valueFrom: { secretKeyRef } }] }).faults, [])
})

test('volumes, mounts and the claim', () => {
  const extraVolumes = [{ name: 'a', emptyDir: {} }]
  const mount = 'spec.extraVolumeMounts[0]'
  const mounts = (...extraVolumeMounts: object[]): object => ({ extraVolumes, extraVolumeMounts })
  checkRefused([
    {
      spec: { extraVolumes: [...extraVolumes, ...extraVolumes] },
      faults: ['spec.extraVolumes[1].name: two volumes have this name'],
    },
    { spec: { extraVolumes: [{ name: 'a' }] }, faults: ['spec.extraVolumes[0]: a volume has exactly one source'] },
    {
      spec: { extraVolumes: [{ name: 'a', emptyDir: {}, secret: { secretName: 'x' } }] },
      faults: ['spec.extraVolumes[0]: a volume has exactly one source'],
    },
    ...['data', 'log', 'tmp', 'config', 'acl', 'mqtts-cert', 'wss-cert', 'telegraf-config', 'operator'].map((name) => ({
      spec: { extraVolumes: [{ name, emptyDir: {} }] },
      faults: ['spec.extraVolumes[0].name: a volume of the cluster has this name'],
    })),
    { spec: mounts({ name: 'a', mountPath: 'x' }), faults: [`${mount}.mountPath: "x" is not valid`] },
    { spec: mounts({ name: 'a', mountPath: '/a:b' }), faults: [`${mount}.mountPath: "/a:b" is not valid`] },
    { spec: mounts({ name: 'b', mountPath: '/x' }), faults: [`${mount}.name: there is no such volume`] },
    {
      spec: mounts({ name: 'a', mountPath: '/x' }, { name: 'a', mountPath: '/x/' }),
      faults: ['spec.extraVolumeMounts[1].mountPath: something else is mounted at this path'],
    },
    ...['/var/lib/godwit', '/etc/godwit/config/', '/etc/godwit/certs/mqtts', '/tmp', '/'].map((mountPath) => ({
      spec: mounts({ name: 'a', mountPath }),
      faults: [`${mount}.mountPath: the cluster mounts a volume at this path`],
    })),
    {
      spec: mounts({ name: 'a', mountPath: '/x', subPath: 'a', subPathExpr: 'b' }),
      faults: [`${mount}.subPathExpr: subPath and subPathExpr exclude each other`],
    },
    {
      spec: mounts({ name: 'a', mountPath: '/x', subPath: '../a' }),
      faults: [`${mount}.subPath: the path is absolute or has the level ..`],
    },
    {
      spec: mounts({ name: 'a', mountPath: '/x', mountPropagation: 'Both' }),
      faults: [`${mount}.mountPropagation: "Both" is not known`],
    },
    { spec: { storage: {} }, faults: ['spec.storage.resources.requests.storage: the claim has no size'] },
    {
      spec: { storage: { resources: { requests: { storage: '0' } } } },
      faults: ['spec.storage.resources.requests.storage: the size of the claim is zero'],
    },
    {
      spec: { storage: { volumeMode: 'Block', resources: { requests: { storage: '1Gi' } } } },
      faults: ['spec.storage.volumeMode: the broker stores its data in a file system'],
    },
  ])
})

test('resources and quantities', () => {
  checkRefused([
    {
      spec: { resources: { requests: { memory: '2Gi' }, limits: { memory: '1G' } } },
      faults: ['spec.resources.requests.memory: the request is higher than the limit'],
    },
    {
      spec: { resources: { requests: { cpu: 1 }, limits: { cpu: '999m' } } },
      faults: ['spec.resources.requests.cpu: the request is higher than the limit'],
    },
    ...['1 Gi', 'x', '-1', '1e', '', '1Xi', true].map((cpu) => ({
      spec: { resources: { limits: { cpu } } },
      faults: [`spec.resources.limits.cpu: ${JSON.stringify(String(cpu))} is not a quantity such as 2, 500m or 1.5Gi`],
    })),
  ])
  const equal = {
    requests: { cpu: '1000m', memory: '1Gi', a: '1e3' },
    limits: { cpu: 1, memory: 1_073_741_824, a: '1k' },
  }
  assert.deepEqual(validateCluster({ resources: equal }).faults, [])
})

test('labels and annotations', () => {
  checkRefused([
    { spec: { labels: { a: 'b c' } }, faults: ['spec.labels.a: "b c" is not valid'] },
    { spec: { labels: { a: 'b'.repeat(64) } }, faults: ['spec.labels.a: the text has 64 characters'] },
    { spec: { labels: { 'a/b/c': 'x' } }, faults: ['spec.labels["a/b/c"]: the key is not valid'] },
    ...['app.kubernetes.io/instance', 'apps.godwit.io/instance', 'apps.emqx.io/instance'].map((key) => ({
      spec: { labels: { [key]: 'x' } },
      faults: [`spec.labels["${key}"]: the operator sets this label`],
    })),
    { spec: { annotations: { a: 1 } }, faults: ['spec.annotations.a: "1" is not a text'] },
  ])
})

test('access rules, plugins, modules and telegraf', () => {
  const template = 'spec.emqxTemplate'
  checkRefused([
    { spec: createAcl({}), faults: [`${template}.acl[0].permission: the field is missing`] },
    { spec: createAcl({ permission: 'maybe' }), faults: [`${template}.acl[0].permission: "maybe" is not known`] },
    {
      spec: createAcl({ permission: 'allow', action: 'pubsub' }),
      faults: [`${template}.acl[0].action: "pubsub" is not known`],
    },
    {
      spec: createAcl({ permission: 'allow', ipaddress: '10.0.0' }),
      faults: [`${template}.acl[0].ipaddress: this is not an address or a network`],
    },
    {
      spec: createAcl({ permission: 'allow', topics: { filter: ['a/#/b', '${x}'], equal: ['ok', ''] } }),
      faults: [
        `${template}.acl[0].topics.filter[0]: + must be a whole level, and # the whole last level`,
        `${template}.acl[0].topics.filter[1]: the only placeholders are \${clientid} and \${username}`,
        `${template}.acl[0].topics.equal[1]: the text is empty`,
      ],
    },
    {
      spec: createAcl({ permission: 'allow', username: 'a\n{allow, all}.', clientid: '$all' }),
      faults: ['username', 'clientid'].map(
        (field) => `${template}.acl[0].${field}: the text has a control character, or stands for all clients`,
      ),
    },
    { spec: { emqxTemplate: { plugins: [{}] } }, faults: [`${template}.plugins[0].name: the field is missing`] },
    {
      spec: { emqxTemplate: { plugins: [{ name: 'emqx_retainer' }, { name: 'retainer' }] } },
      faults: [`${template}.plugins[1].name: this name is another one of the same feature`],
    },
    {
      spec: { emqxTemplate: { modules: [{ name: 'retainer' }, { name: 'retainer' }] } },
      faults: [`${template}.modules[1].name: the module "retainer" is there twice: see item 0`],
    },
    {
      spec: { emqxTemplate: { modules: [{ name: 'retainer', enable: true, configs: '{"max_payload_size": ' }] } },
      faults: [`${template}.modules[0].configs: this is neither an object nor a text with a JSON object`],
    },
    {
      spec: { emqxTemplate: { modules: [{ name: 'retainer', enable: true, configs: { max_payload_size: 'much' } }] } },
      faults: [
        `${template}.modules[0].configs: retainer.max_payload_size: "much" is not a size such as 10MB, from 1 to 260MB`,
      ],
    },
    { spec: { telegrafTemplate: { config: 'x' } }, faults: ['spec.telegrafTemplate.image: the field is missing'] },
    {
      spec: { telegrafTemplate: { image: 'telegraf' } },
      faults: ['spec.telegrafTemplate.config: telegraf has no configuration'],
    },
  ])
})

test('two spellings of one field with different values', () => {
  checkRefused([
    {
      spec: { tolerations: [], toleRations: [{ operator: 'Exists' }] },
      faults: ['spec.toleRations: tolerations and toleRations are the same field and have different values'],
    },
    {
      spec: { telegrafTemplate: { image: 'telegraf', config: 'a', conf: 'b' } },
      faults: ['spec.telegrafTemplate.conf: config and conf are the same field and have different values'],
    },
  ])
  assert.deepEqual(
    validateCluster({ tolerations: [{ operator: 'Exists' }], toleRations: [{ operator: 'Exists' }] }).faults,
    [],
  )
  const other = validateCluster({ toleRations: [{ key: 'a', operator: 'Exists', value: 'b' }] })
  assert.deepEqual(listFaults(other.faults), ['spec.toleRations[0].value: the operator Exists has no value'])
})

test('certificates', () => {
  const at = `${listenerPath}.certificate.mqtts`
  const other = new Authority('Other').issue('other.example.org')
  const good = { 'tls.cert': certificate.certificate, 'tls.key': certificate.key }
  checkRefused([
    {
      spec: createCertificate({ data: { 'tls.cert': '***', 'tls.key': 'eA==' } }),
      faults: [`${at}.data["tls.cert"]: the value is not base64`, `${at}.data["tls.cert"]: the certificate is missing`],
    },
    {
      spec: createCertificate({ stringData: { 'tls.cert': good['tls.cert'] } }),
      faults: [`${at}.data["tls.key"]: the private key is missing`],
    },
    {
      spec: createCertificate({ stringData: { ...good, 'tls.cert': 'x' } }),
      faults: [`${at}.stringData["tls.cert"]: this is no certificate in PEM`],
    },
    {
      spec: createCertificate({ stringData: { ...good, 'tls.key': 'x' } }),
      faults: [`${at}.stringData["tls.key"]: this is no private key in PEM without a password`],
    },
    {
      spec: createCertificate({ stringData: { ...good, 'tls.key': other.key } }),
      faults: [`${at}.stringData["tls.key"]: the key does not belong to the certificate`],
    },
    {
      spec: createCertificate({ stringData: { ...good, 'ca.crt': 'x' } }),
      faults: [`${at}.stringData["ca.crt"]: these are no certificates in PEM`],
    },
    {
      spec: createCertificate({ stringData: good, secretName: 'a' }),
      faults: [`${at}.secretName: secretName excludes data and stringData`],
    },
  ])
  assert.deepEqual(validateCluster(createCertificate({ stringData: good })).faults, [])
})

test('further containers, security and network', () => {
  checkRefused([
    {
      spec: { extraContainers: [{ name: 'godwit', image: 'a' }] },
      faults: ['spec.extraContainers[0].name: a container of the cluster has this name'],
    },
    { spec: { initContainers: [{ name: 'a' }] }, faults: ['spec.initContainers[0].image: the container has no image'] },
    {
      spec: { extraContainers: [{ name: 'a', image: 'a' }], initContainers: [{ name: 'a', image: 'a' }] },
      faults: ['spec.initContainers[0].name: another container has this name'],
    },
    {
      spec: { podSecurityContext: { seccompProfile: { type: 'Localhost' } } },
      faults: [
        'spec.podSecurityContext.seccompProfile.localhostProfile: localhostProfile and the type Localhost need each other',
      ],
    },
    {
      spec: {
        topologySpreadConstraints: [
          { maxSkew: 1, topologyKey: 'a', whenUnsatisfiable: 'ScheduleAnyway', minDomains: 2 },
        ],
      },
      faults: ['spec.topologySpreadConstraints[0].minDomains: minDomains is only for DoNotSchedule'],
    },
    {
      spec: { networkPolicy: { from: [{}, { ipBlock: { cidr: 'all' } }] } },
      faults: [
        'spec.networkPolicy.from[0]: a peer has either ipBlock or selectors',
        'spec.networkPolicy.from[1].ipBlock.cidr: this is not a network',
      ],
    },
  ])
})

test('all faults are reported at once, by line', () => {
  const { faults } = validateCluster({
    replicas: -1,
    env: [{ name: 'A' }, { name: 'A' }],
    tolerations: [{}],
    config: 'x.y = 1',
    resources: { limits: { cpu: 'x' } },
  })
  assert.deepEqual(
    faults.map(({ path }) => path),
    ['spec.replicas', 'spec.env[1].name', 'spec.tolerations[0].key', 'spec.config', 'spec.resources.limits.cpu'],
  )
  assert.deepEqual(
    faults.map(({ line }) => line).toSorted((a, b) => a - b),
    faults.map(({ line }) => line),
  )
})

test('a fault is in the line of its value', () => {
  const text =
    'apiVersion: apps.godwit.io/v1beta2\nkind: GodwitCluster\nmetadata:\n  name: a\nspec:\n  image: a\n  env:\n    - name: B\n      value: 1\n'
  const [fault] = validateText(text).faults
  assert.ok(fault !== undefined)
  assert.equal(readLine(text, fault).trim(), 'value: 1')
})
