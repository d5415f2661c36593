// Nodes of the whole program in the process of the test, with all kinds of data that a backup contains.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt'
import { toArchiveFolder, readArchiveMembers } from '../../../src/archives/index.ts'
import { checkArchive, readLines, toBackupForm } from '../../../src/backup/index.ts'
import { hashPassword, type HashedPassword, makeScramRecord } from '../../../src/access/index.ts'
import type { BackupFile, BackupScope } from '../../../src/node/backup/backup-folder.ts'
import type { RunningNode } from '../../../src/boot/running-node.ts'
import { atEnd, temporaryFolder } from '../../e2e/godwit-process.ts'
import { importNode } from '../built-node.ts'

const { readConfiguration, startNode } = await importNode()

export const operator: BackupScope = {
  namespace: undefined,
  mayManageAccounts: true,
  by: {
    name: 'ann',
    by: 'account',
    role: 'administrator',
    namespace: undefined,
    address: '127.0.0.1',
    login: undefined,
  },
}

export interface NodeInTest {
  readonly node: RunningNode
  readonly port: number
  readonly folder: string
}

/** `set`: settings of the command line. `change`: settings that are changed over the API, so that archives contain them. */
export async function startInTest(
  t: TestContext,
  { set = [], folder }: { readonly set?: readonly string[]; readonly folder?: string } = {},
): Promise<NodeInTest> {
  const own = folder ?? (await temporaryFolder(t))
  const ports = ['listeners.tcp.bind="127.0.0.1:0"', 'http_server.enable=false']
  const overrides = [...ports, 'log.to=[file]', 'log.level=warn', 'node.shards=1', ...set]
  const read = readConfiguration({
    file: undefined,
    dataDirectory: own,
    installation: { root: own, isCheckout: true },
    overrides,
    environment: {},
  })
  assert.ok('config' in read, JSON.stringify(read))
  const { config, warnings, ...sources } = read
  const started = await startNode({
    config,
    warnings,
    sources,
    installation: { root: own, isCheckout: true },
    version: '0.1.0',
  })
  assert.ok('node' in started, 'problem' in started ? started.problem : '')
  const { node } = started
  atEnd(t, () => node.stop())
  const [listener] = node.listeners
  return { node, port: listener?.port ?? 0, folder: own }
}

export async function client(t: TestContext, port: number, options: IClientOptions = {}): Promise<MqttClient> {
  const connected = await connectAsync(`mqtt://127.0.0.1:${port}`, {
    protocolVersion: 5,
    reconnectPeriod: 0,
    ...options,
  })
  t.after(() => connected.endAsync(true))
  return connected
}

export function fileOf(outcome: BackupFile | { readonly symbol: string; readonly message: string }): BackupFile {
  assert.ok('filename' in outcome, 'message' in outcome ? outcome.message : '')
  return outcome
}

/** The content of an archive, by member: lines of tables sorted, as their order is not defined. */
export async function contentsOf(path: string, filename: string): Promise<Record<string, unknown>> {
  const packed = await readFile(path)
  const folder = toArchiveFolder(filename)
  const checked = await checkArchive(only(packed), { folder, maxLineBytes: 1_048_576 })
  const contents: Record<string, unknown> = { counts: Object.fromEntries(checked.counts) }
  for await (const member of readArchiveMembers(only(packed), toBackupForm(folder))) {
    if (member.name === 'META.hocon') continue
    const lines: string[] = []
    for await (const some of readLines(member.readContent(), { name: member.name, maxBytes: 1_048_576 }))
      lines.push(...some)
    contents[member.name] = member.name.startsWith('tables/') ? lines.toSorted() : lines
  }
  return contents
}

async function* only(content: Buffer): AsyncGenerator<Buffer> {
  yield content
}

export function backupPath({ folder }: Pick<NodeInTest, 'folder'>, filename: string): string {
  return join(folder, 'backup', filename)
}

const hashed = (password: string): HashedPassword =>
  hashPassword(password, { algorithm: 'sha256', saltPosition: 'prefix' })

/** Adds one access record of each kind. */
export async function fillBook({ accessRecords }: RunningNode): Promise<void> {
  const createdAtMs = (): number => accessRecords.createMomentMs()
  const rest = {
    algorithm: 'sha256',
    memory: 0,
    passes: 0,
    lanes: 0,
    salt: Buffer.from('salt'),
    hash: Buffer.alloc(32, 7),
  } as const
  await accessRecords.change({
    put: [
      {
        kind: 'credential',
        by: 'username',
        id: 'alice',
        isSuperuser: false,
        createdAtMs: createdAtMs(),
        ...hashed('of alice'),
      },
      {
        kind: 'credential',
        by: 'clientid',
        id: 'sensor-ü',
        isSuperuser: true,
        createdAtMs: createdAtMs(),
        ...hashed('of sensor'),
      },
      makeScramRecord({
        username: 'sam',
        password: 'of sam',
        algorithm: 'SCRAM-SHA-256',
        iterations: 4_096,
        isSuperuser: false,
        createdAtMs: createdAtMs(),
      }),
      { kind: 'namespace', name: 'plant', createdAtMs: createdAtMs() },
      {
        kind: 'namespace',
        name: 'shop',
        createdAtMs: createdAtMs(),
        limits: { clients: 5, retainedMessages: 'infinity', messagesPerSecond: undefined },
      },
      { kind: 'psk', namespace: 'plant', identity: 'gateway', key: Buffer.from('fedcba9876543210', 'hex') },
      { kind: 'psk', identity: 'gateway', key: Buffer.from('0123456789abcdef', 'hex') },
      {
        kind: 'rule',
        about: 'username',
        who: 'alice',
        topic: 'plant/#',
        action: 'pubsub',
        permit: 'allow',
        createdAtMs: createdAtMs(),
      },
      {
        kind: 'rule',
        namespace: 'plant',
        about: 'all',
        who: '',
        topic: 'secret/#',
        action: 'subscribe',
        permit: 'deny',
        createdAtMs: createdAtMs(),
      },
      { kind: 'ban', as: 'username', who: 'mallory', reason: 'known', by: 'ann', atMs: Date.now(), untilMs: undefined },
      {
        kind: 'ban',
        as: 'peerhost',
        who: '203.0.113.0/24',
        reason: '',
        by: 'ann',
        atMs: Date.now(),
        untilMs: Date.now() + 3_600_000,
      },
      {
        kind: 'account',
        name: 'bob',
        description: '',
        namespace: undefined,
        role: 'viewer',
        password: rest,
        createdAtMs: createdAtMs(),
      },
      {
        kind: 'api-key',
        id: 'reports',
        name: 'reports',
        description: 'of the month',
        role: 'viewer',
        namespace: 'plant',
        isEnabled: true,
        expiresAtMs: Date.now() + 86_400_000,
        secret: rest,
        createdAtMs: createdAtMs(),
      },
    ],
    delete: [],
  })
}
