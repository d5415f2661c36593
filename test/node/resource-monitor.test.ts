import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { Alarms } from '../../src/node/observe/raised-alarms.ts'
import { ResourceMonitor } from '../../src/node/observe/resource-monitor.ts'
import { temporaryFolder } from '../e2e/godwit-process.ts'
import { Authority } from '../transports/certificates.ts'

const dayMs = 86_400_000
const newAlarms = (): Alarms => new Alarms({ log: { error: () => {}, warn: () => {} } })
const activeNames = (alarms: Alarms): string[] => alarms.listActive().map(({ name }) => name)

test('a disk that is nearly full raises one alarm, which ends when there is enough free space', async () => {
  const alarms = newAlarms()
  let free = 1e9
  const watch = new ResourceMonitor({
    dataDirectory: '/data',
    listCertificates: () => [],
    alarms,
    readFreeBytes: async () => free,
  })
  await watch.checkDisk()
  assert.deepEqual(activeNames(alarms), [])
  free = 1e8
  await watch.checkDisk()
  await watch.checkDisk()
  assert.deepEqual(
    alarms.listActive().map(({ name, occurrences }) => [name, occurrences]),
    [['disk-full', 1]],
  )
  free = 9e7
  await watch.checkDisk()
  assert.deepEqual(
    alarms.listActive().map(({ message, occurrences }) => [/^\d+/.exec(message)?.[0], occurrences]),
    [['85', 1]],
    'the message has the present number',
  )
  free = 1e6
  await watch.checkDisk()
  assert.match(alarms.listActive()[0].message, /^0 MiB are left/, 'the message is updated when the state gets worse')
  free = 1e9
  await watch.checkDisk()
  assert.deepEqual(activeNames(alarms), [])
})

test('a certificate that expires within thirty days raises an alarm with listener and file, until it is renewed', async (t) => {
  const folder = await temporaryFolder(t)
  const certFile = join(folder, 'cert.pem')
  const authority = new Authority('plant')
  const renew = (days: number): Promise<void> =>
    writeFile(certFile, authority.issue('broker', { until: new Date(Date.now() + days * dayMs) }).certificate)
  const shown = [{ of: 'listener ssl outside', file: certFile }]
  const alarms = newAlarms()
  const watch = new ResourceMonitor({ dataDirectory: folder, listCertificates: () => shown, alarms })
  await renew(29)
  await watch.checkCertificates()
  assert.deepEqual(activeNames(alarms), ['certificate-ends'])
  assert.match(
    alarms.listActive()[0].message,
    /^listener ssl outside: the certificate in .*cert\.pem ends in 2[89] days/,
  )
  await renew(90)
  await watch.checkCertificates()
  assert.deepEqual(activeNames(alarms), [])
  await renew(-1)
  await watch.checkCertificates()
  assert.match(alarms.listActive()[0].message, /has ended/)
  assert.deepEqual(
    watch.certificates.map(({ of, file }) => [of, file]),
    [['listener ssl outside', certFile]],
  )
  shown.pop()
  await watch.checkCertificates()
  assert.deepEqual(activeNames(alarms), [], 'the alarm is in no list')
  assert.deepEqual(watch.certificates, [])
})

test('a check of certificates that takes longer than the next one does not replace its result', async (t) => {
  const folder = await temporaryFolder(t)
  const [slow, fast] = [join(folder, 'slow.pem'), join(folder, 'fast.pem')]
  const { certificate } = new Authority('plant').issue('broker')
  await writeFile(fast, certificate)
  // Reading from it waits for the writer.
  execFileSync('mkfifo', [slow])
  let file = slow
  const shownCertificates = () => [{ of: 'listener ssl default', file }]
  const monitor = new ResourceMonitor({
    dataDirectory: folder,
    listCertificates: shownCertificates,
    alarms: newAlarms(),
  })
  const first = monitor.checkCertificates()
  file = fast
  await monitor.checkCertificates()
  await writeFile(slow, certificate)
  await first
  assert.deepEqual(
    monitor.certificates.map((one) => one.file),
    [fast],
  )
})
