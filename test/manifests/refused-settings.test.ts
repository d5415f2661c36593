// Refused settings, changes, backups and restores: a fault names the field, the line, the reason and the remedy.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { validateText } from '../../src/manifests/index.ts'
import { checkRefused } from './check-refused.ts'
import { listFaults, writeCluster } from './resources.ts'

function createStorage(size: string, more = {}): object {
  return { storage: { resources: { requests: { storage: size } }, ...more } }
}

function writeResource(kind: string, spec: object): string {
  return JSON.stringify({ apiVersion: 'apps.godwit.io/v1beta2', kind, metadata: { name: 'a' }, spec })
}

test('settings, as godwit config check finds them', () => {
  const { faults } = validateText(
    [
      'apiVersion: apps.godwit.io/v1beta2',
      'kind: GodwitCluster',
      'metadata: {name: plant}',
      'spec:',
      '  image: godwit',
      '  config: |',
      '    log.level = loud',
      '    listeners.tcp.bind = 1883',
      '    nod.shards = 2',
      '    http_server { port = 8081 }',
      '    listeners.ssl.default.certfile = "/x"',
      '  env:',
      '    - { name: GODWIT_NODE__SHARDS, value: "0" }',
      '    - { name: GODWIT_NODE__NAME, value: a }',
      '    - { name: GODWIT_MQTT__NO_SUCH, valueFrom: { secretKeyRef: { name: a, key: b } } }',
      '    - { name: EMQX_ALLOW_ANONYMOUS, value: perhaps }',
    ].join('\n'),
  )
  assert.deepEqual(
    faults.map(({ line, path, message }) => `${line} ${path}: ${message}`),
    [
      '7 spec.config: line 1: log.level: "loud" is not one of trace, debug, info, warn, error, fatal, or auto',
      '8 spec.config: line 2: listeners.tcp.bind is set by the operator',
      '9 spec.config: line 3: nod: there is no such setting',
      '10 spec.config: line 4: http_server.port is set by the operator',
      '11 spec.config: line 5: listeners.ssl.default.certfile is set by the operator',
      '13 spec.env[0].name: node.shards: "0" is not a whole number from 1 to 250, or auto',
      '14 spec.env[1].name: node.name is set by the operator',
      '15 spec.env[2].name: mqtt.no_such: there is no such setting',
      '16 spec.env[3].name: auth.allow_anonymous: "perhaps" is not true or false, or unset',
    ],
  )
})

test('configuration that is no HOCON, or includes files', () => {
  checkRefused([
    { spec: { config: 'a = {' }, faults: ['spec.config: line 1: a: { has no closing }'] },
    { spec: { config: 'include "/etc/passwd"' }, faults: ['spec.config: line 1: files cannot be included here'] },
    {
      spec: { config: 'log.level = ${MISSING}' },
      faults: ['spec.config: line 1: ${MISSING} is not set anywhere'],
    },
  ])
})

test('changes', () => {
  const cases: readonly (readonly [object, object, readonly string[]])[] = [
    [{ imagePullPolicy: 'Always' }, {}, ['spec.imagePullPolicy: imagePullPolicy does not change once it is set']],
    [
      { imagePullPolicy: 'Always' },
      { imagePullPolicy: 'Never' },
      ['spec.imagePullPolicy: imagePullPolicy does not change once it is set'],
    ],
    [{}, { imagePullPolicy: 'Never' }, []],
    [{}, createStorage('1Gi'), ['spec.storage: storage is neither added nor removed']],
    [createStorage('1Gi'), {}, ['spec.storage: storage is neither added nor removed']],
    [createStorage('1Gi'), createStorage('2Gi'), []],
    [createStorage('2Gi'), createStorage('2048Mi'), []],
    [
      createStorage('2Gi'),
      createStorage('1Gi'),
      ['spec.storage.resources.requests.storage: the size of the claim only grows'],
    ],
    [
      createStorage('1Gi', { storageClassName: 'a' }),
      createStorage('1Gi', { storageClassName: 'b' }),
      ['spec.storage.storageClassName: of the claim only the size changes'],
    ],
    [createStorage('1Gi'), createStorage('1Gi', { accessModes: ['ReadWriteOnce'] }), []],
  ]
  for (const [before, after, faults] of cases)
    assert.deepEqual(
      listFaults(validateText(writeCluster(after), writeCluster(before)).faults),
      faults,
      JSON.stringify([before, after]),
    )
})

test('backups and restores', () => {
  const pvc = { claimName: 'backups' }
  const s3 = { endpoint: 'https://s3.example', bucket: 'backups', credentialsSecret: 'a' }
  const archive = 'godwit-export-2026-11-29-12-00-00.000.tar.gz'
  const cases: readonly (readonly [string, object, readonly string[]])[] = [
    [
      'GodwitBackup',
      { clusterName: 'plant', pvc, schedule: { cron: '30 3 * * mon-fri', timeZone: 'Europe/Berlin' } },
      [],
    ],
    ['GodwitBackup', { clusterName: 'plant', s3, retention: { keep: 3, maxAge: '30d' } }, []],
    ['GodwitBackup', { clusterName: 'plant' }, ['spec: there is exactly one of pvc and s3']],
    ['GodwitBackup', { clusterName: 'plant', pvc, s3 }, ['spec: there is exactly one of pvc and s3']],
    ['GodwitBackup', { pvc }, ['spec.clusterName: the field is missing']],
    ...['60 3 * * *', '10 3 * * ', '0 3 * * 8', '*/0 * * * *', '5-1 * * * *', '@reboot!!'].map(
      (cron) =>
        [
          'GodwitBackup',
          { clusterName: 'a', pvc, schedule: { cron } },
          ['spec.schedule.cron: this is not a schedule of cron'],
        ] as const,
    ),
    [
      'GodwitBackup',
      { clusterName: 'a', pvc, schedule: { cron: '0 3 * * *', timeZone: 'Mars/Base' } },
      ['spec.schedule.timeZone: there is no such time zone'],
    ],
    ['GodwitBackup', { clusterName: 'a', pvc, retention: { keep: 0 } }, ['spec.retention.keep: 0 is out of range']],
    ['GodwitRestore', { clusterName: 'a', backupName: archive, pvc, allowSecurityProfileMismatch: true }, []],
    [
      'GodwitRestore',
      { clusterName: 'a', backupName: `../${archive}`, pvc },
      [`spec.backupName: "../${archive}" is not valid`],
    ],
    ['GodwitRestore', { clusterName: 'a', backupName: archive }, ['spec: there is exactly one of pvc and s3']],
  ]
  for (const [kind, spec, faults] of cases)
    assert.deepEqual(listFaults(validateText(writeResource(kind, spec)).faults), faults, JSON.stringify(spec))
  const restore = writeResource('GodwitRestore', { clusterName: 'a', backupName: archive, pvc })
  const changed = writeResource('GodwitRestore', { clusterName: 'a', backupName: archive, pvc, dryRun: true })
  assert.deepEqual(listFaults(validateText(restore, restore).faults), [])
  assert.deepEqual(listFaults(validateText(changed, restore).faults), ['spec: a restore does not change: it runs once'])
})

test('secrets that are not in a Secret, variables and features without effect are warnings', () => {
  const { warnings, faults } = validateText(
    writeCluster({
      replicas: 1,
      storage: { resources: { requests: { storage: '1Gi' } } },
      config:
        'auth.allow_anonymous = true\nhttp_server.password = "secret word"\nbridges.mqtt.up { server = "mqtt-tcp://a:1883", password = ${WORD} }',
      env: [
        { name: 'WORD', valueFrom: { secretKeyRef: { name: 'a', key: 'b' } } },
        { name: 'GODWIT_HTTP_SERVER__PASSWORD', value: 'other word' },
        { name: 'EMQX_CLUSTER__DISCOVERY', value: 'dns' },
        { name: 'EMQX_LISTENER__SSL__EXTERNAL__MAX_CONNECTIONS', value: '5' },
      ],
      emqxTemplate: { license: 'x', plugins: [{ name: 'emqx_unknown' }, { name: 'emqx_management' }] },
      unknown: 1,
      replica: 2,
    }),
  )
  assert.deepEqual(faults, [])
  assert.deepEqual(listFaults(warnings), [
    'spec.config: line 2: http_server.password is a secret, and its value is not in a Secret',
    'spec.config: line 3: bridges.mqtt.up.enable: the bridge has no setting enable, so it is disabled',
    'spec.env[1].name: http_server.password is a secret, and its value is not in a Secret',
    'spec.env[2].name: the variable "EMQX_CLUSTER__DISCOVERY" of EMQX has no effect',
    'spec.env[3].name: listeners.ssl.max_connections has no effect: the port mqtts is not open',
    'spec.emqxTemplate.license: the license has no effect',
    'spec.emqxTemplate.plugins[0].name: there is no plugin "emqx_unknown"',
    'spec.emqxTemplate.plugins[1].enable: the management API stays on',
    'spec.unknown: there is no such field',
    'spec.replica: there is no such field',
  ])
  assert.equal(JSON.stringify(warnings).includes('secret word'), false)
})

test('warnings about the listener, the node and the number of brokers', () => {
  const cases: readonly (readonly [object, string])[] = [
    [{}, 'spec: there is no storage: data is lost when a pod is deleted'],
    [{}, 'spec: clients without a user name and password are refused'],
    [
      { replicas: 2 },
      'spec.replicas: the brokers do not form a cluster: a client sees only the messages and sessions of its broker',
    ],
    [{ replicas: 2, nodeName: 'a' }, 'spec.nodeName: all brokers run on one node'],
    [
      { emqxTemplate: { listener: { ports: { mqtt: 1883, mqtts: 8883 } } } },
      'spec.emqxTemplate.listener.ports.mqtts: the port is not opened: it has no certificate',
    ],
    [
      { emqxTemplate: { listener: { loadBalancerIP: '192.0.2.1' } } },
      'spec.emqxTemplate.listener.loadBalancerIP: loadBalancerIP has no effect with this type',
    ],
    [
      { emqxTemplate: { listener: { type: 'LoadBalancer' } } },
      'spec.emqxTemplate.listener.type: the management API can be reached from outside',
    ],
  ]
  for (const [spec, warning] of cases) {
    const found = validateText(writeCluster(spec))
    assert.deepEqual(found.faults, [])
    assert.ok(listFaults(found.warnings).includes(warning), warning)
  }
  const inside = { type: 'LoadBalancer', management: 'inside', ports: { mqtt: 1883 } }
  const quiet = {
    replicas: 1,
    storage: { resources: { requests: { storage: '1Gi' } } },
    config: 'auth.allow_anonymous = true',
    emqxTemplate: { listener: inside },
  }
  assert.deepEqual(validateText(writeCluster(quiet)).warnings, [])
})

test('files and annotations that Kubernetes does not store', () => {
  const filter = Array.from({ length: 256 }, (_, index) => `${index}/${'a'.repeat(4_000)}`)
  const { faults } = validateText(
    JSON.stringify(JSON.parse(writeCluster({ emqxTemplate: { acl: [{ permission: 'allow', topics: { filter } }] } }))),
  )
  assert.deepEqual(listFaults(faults), [
    'spec.emqxTemplate.acl: the access rules have 1025962 bytes, and a ConfigMap has at most 1000000',
  ])
  const annotations = { a: 'x'.repeat(200_000), b: 'y'.repeat(70_000) }
  assert.deepEqual(listFaults(validateText(writeCluster({ annotations })).faults), [
    'spec.annotations: the annotations have more than 262144 bytes',
  ])
})
