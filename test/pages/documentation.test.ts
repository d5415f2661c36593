// Each block of commands in docs/ runs word for word, in the order of its page, or is in the table of what cannot run here.

import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { test, type TestContext } from 'node:test'
import { eventually } from '../e2e/eventually.ts'
import type { IsolatedProcess } from '../e2e/isolated-machine.ts'
import { longTest } from '../test-length.ts'
import { blocksOf, checkout, commandsOf, type PageReader, startReader } from './page-reader.ts'

interface Page {
  /** What the reader of the page has: files, clients. */
  readonly has?: readonly string[]
  /** What the reader writes for a word in capitals. */
  readonly names?: Readonly<Record<string, string>>
  /** What the subscribers of the page print. */
  readonly prints?: readonly RegExp[]
  /** The export of another broker that the page converts. */
  readonly exported?: string
  /** What holds at the end. */
  readonly after?: readonly Check[]
  /** What holds before the command that begins so, besides its exit code. */
  readonly before?: Readonly<Record<string, readonly Check[]>>
  readonly isDaily?: boolean
}

/** A command that ends, or a program that goes on, such as a device of the reader. */
type Check = { readonly shows: RegExp } & ({ readonly command: string } | { readonly program: string })

const mosquittoSettings = 'listener 1883\nallow_anonymous false\npassword_file /etc/mosquitto/passwords\n'
const emqxExport = JSON.stringify({
  version: '4.4',
  date: '2022-01-01 00:00:00',
  auth_mnesia: [],
  acl_mnesia: [],
  blacklist: [],
})

const certificateFor = (name: string): string =>
  `openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=${name} -addext subjectAltName=DNS:${name} -keyout key.pem -out cert.pem`

/** Debian's PostgreSQL with the settings of its package, and what starts it and changes the account on a machine without systemd and sudo. */
const postgresql = [
  'mount -t tmpfs none /run && mkdir -m 1777 /run/postgresql',
  `cat > /mnt/bin/sudo <<'END'
#!/bin/sh
user=root
[ "$1" = -u ] && { user=$2; shift 2; }
as="setpriv --reuid=$user --regid=$user --clear-groups"
$as true 2>/dev/null || as="unshare --user --map-user=$(id -u "$user") --map-group=$(id -g "$user")"
[ "$user" = root ] && as=
exec env -i PATH="$PATH" $as "$@"
END
`,
  `cat > /mnt/bin/systemctl <<'END'
#!/bin/sh
[ "$2" = postgresql ] || exit 1
exec sudo -u postgres pg_ctl -w -s -D /mnt/postgresql/data -l /mnt/postgresql/log -o '-c unix_socket_directories=/run/postgresql' "$1"
END
`,
  'chmod 755 /mnt/bin/sudo /mnt/bin/systemctl && ln -s $(ls -d /usr/lib/postgresql/*/bin/* | sort -V) -f -t /mnt/bin',
  'mkdir /mnt/postgresql && { chown postgres /mnt/postgresql || true; }',
  'sudo -u postgres initdb -D /mnt/postgresql/data --auth-local=peer --auth-host=scram-sha-256 -N',
  'sudo systemctl start postgresql',
]

/** The configuration and the database of a mosquitto to which Zigbee2MQTT has announced a lamp. */
const mosquittoOfHome = [
  "printf 'listener 1883\\nallow_anonymous false\\n' > mosquitto.conf",
  'touch users && mosquitto_passwd -b users zigbee2mqtt old',
  "printf 'user root\\npassword_file users\\npersistence true\\npersistence_location ./\\n' | cat mosquitto.conf - > home.conf",
  `(mosquitto -c home.conf & broker=$!
    until mosquitto_pub -u zigbee2mqtt -P old -q 1 -r -t homeassistant/light/lamp/config -m '{}'; do sleep 0.1; done
    kill $broker; wait $broker; test -s mosquitto.db)`,
]

const configurationOf = (page: string): string =>
  `cat > godwit.conf <<'END'\n${blocksOf(page).find(({ word }) => word === 'conf')?.text}END\n`

const retainedAtHome = "mosquitto_sub -u homeassistant -P 'correct horse 7' -t 'homeassistant/light/#' -v -C 1 -W 20"

/** What a user may do, over MQTT 5.0, which says why not. */
const asAnna = (topic: string): string =>
  `mosquitto_pub -V 5 -q 1 -u anna -P 'correct horse 7' -t ${topic} -m open 2>&1 || true`

/** Writes the first resource of docs/KUBERNETES.md to a file. */
function writeClusterTo(file: string): string {
  const resource = blocksOf('docs/KUBERNETES.md').find(({ word }) => word === 'yaml')?.text ?? ''
  return `echo ${Buffer.from(resource).toString('base64')} | base64 -d > ${file}`
}

const pages: Readonly<Record<string, Page>> = {
  'docs/KUBERNETES.md': { has: [writeClusterTo('plant.yaml'), writeClusterTo('new.yaml')] },
  'docs/USERS.md': {
    names: { CLIENT: 'anna', TOPIC: 'anna/door' },
    has: ['mosquitto_sub -i anna -t news/# &'],
    before: {
      'godwit ctl explain': [
        { command: "echo 'correct horse 7' | godwit ctl user add anna", shows: /anna/ },
        { command: 'godwit ctl config set auth.no_match=deny', shows: /no_match/ },
        { command: asAnna('anna/door'), shows: /^$/ },
        { command: asAnna('bert/door'), shows: /[Nn]ot authorized/ },
        { command: asAnna('news/1'), shows: /[Nn]ot authorized/ },
        { command: 'godwit ctl user del anna', shows: /anna/ },
        { command: asAnna('anna/door'), shows: /Bad User Name or Password/ },
      ],
    },
  },
  'docs/TUTORIAL.md': { has: [...postgresql, configurationOf('docs/TUTORIAL.md')] },
  'docs/API-GUIDE.md': { has: ['godwit start', 'mosquitto_sub -i lamp-7 -t plant/# &'], isDaily: true },
  'docs/HOME-ASSISTANT.md': {
    has: [configurationOf('docs/HOME-ASSISTANT.md'), ...mosquittoOfHome],
    after: [{ command: retainedAtHome, shows: /^homeassistant\/light\/lamp\/config \{\}$/m }],
  },
  'docs/OPERATING.md': { has: ['mosquitto_sub -i lamp-7 -t plant/1/light &'], isDaily: true },
  'docs/BACKUP.md': { isDaily: true },
  'docs/BRIDGES.md': {},
  'docs/SERVICE.md': {},
  'docs/TOPICS.md': {},
  'docs/PROBES.md': {},
  'docs/TLS.md': {
    has: [
      certificateFor('broker.example'),
      'cp cert.pem authority.pem',
      configurationOf('docs/TLS.md'),
      'godwit start --config godwit.conf --set auth.allow_anonymous=true',
    ],
  },
  'docs/gateways/authentication.md': {},
  'docs/gateways/coap.md': { prints: [/^sensors\/1 21\.5\r?$/m] },
  'docs/gateways/stomp.md': { prints: [/^sensors\/1 21\.5\r?$/m] },
  'docs/MOVING.md': {
    has: [
      `cat > /etc/mosquitto/mosquitto.conf <<'END'\n${mosquittoSettings}END\n`,
      'touch /etc/mosquitto/passwords && mosquitto_passwd -b /etc/mosquitto/passwords anna "correct horse 7"',
      `echo '${emqxExport}' > emqx-export.json`,
      'echo "mqtt.max_packet_size = 2MB" > emqx.conf',
      'echo "mqtt.max_packet_size = 3MB" > nanomq.conf',
    ],
    exported: 'emqx-export.json',
  },
  'docs/gateways/lwm2m.md': {
    // The response to the command of the page.
    prints: [/^lwm2m\/meter-1\/up\/resp \{"reqID":1,"msgType":"read".*"value":"maker"/m],
    before: {
      mosquitto_pub: [
        { program: `"${process.execPath}" "${checkout}test/pages/lwm2m-meter.ts" meter-1 5783`, shows: /registered/ },
      ],
    },
  },
  'docs/gateways/mqtt-sn.md': {},
}

/** Page, beginning of the command, and why it does not run here. */
const notRun: readonly (readonly [page: string, command: string, reason: string])[] = [
  ['docs/PLUGIN-PACKAGES.md', 'godwit plugins ', 'needs archives: test/cli/plugin-commands.test.ts runs them'],
  ['docs/SERVICE.md', 'docker ', 'needs a service of Docker and images of a registry'],
  ['docs/KUBERNETES.md', 'godwit deploy render plant.yaml --with-secrets', 'needs a cluster of Kubernetes'],
  ['docs/KUBERNETES.md', 'godwit deploy crd', 'needs a cluster of Kubernetes'],
  ['docs/gateways/mqtt-sn.md', 'mqtt-sn-pub ', 'needs mqtt-sn-tools, which Debian does not have'],
  ['docs/recipes/debug.md', '', 'needs a debugger, or runs until it is interrupted'],
]

const reasonOf = (page: string, command: string): string | undefined =>
  notRun.find(([name, start]) => name === page && command.startsWith(start))?.[2]

const all = globSync(['docs/**/*.md'], { cwd: checkout })
const commandsIn = (page: string): string[] => blocksOf(page).flatMap(commandsOf)

test('each command in docs/ runs in a test, or the table says why not', () => {
  const unknown = all.flatMap((page) =>
    commandsIn(page).filter((command) => pages[page] === undefined && reasonOf(page, command) === undefined),
  )
  assert.deepEqual(unknown, [])
  for (const [page, start] of notRun)
    assert.ok(
      commandsIn(page).some((command) => command.startsWith(start)),
      `${page} has no command "${start}"`,
    )
  for (const page of Object.keys(pages)) assert.ok(commandsIn(page).length > 0, `${page} has no commands`)
})

/** Runs the commands of a page; knows the broker, the subscribers and the last archive. */
class Walk {
  readonly #reader: PageReader
  readonly #page: Page
  readonly subscribers: IsolatedProcess[] = []
  /** Keys of `before`. */
  readonly checked = new Set<string>()
  #broker: IsolatedProcess | undefined
  #archive = ''

  constructor(reader: PageReader, page: Page) {
    this.#reader = reader
    this.#page = page
  }

  async follow(written: string): Promise<void> {
    const command = this.#fill(written)
    await this.#checkBefore(command)
    if (/^godwit start\b/.test(command)) {
      await this.end()
      this.#broker = await this.#reader.start(command)
      return
    }
    if (this.#broker === undefined && /^(godwit (ctl|bench|conformance)|mosquitto)/.test(command))
      await this.follow('godwit start')
    if (command.startsWith('mosquitto_sub')) this.subscribers.push(await this.#reader.subscribe(command))
    else if (/\b(user (add|update)|add-user)\b/.test(command)) await this.#reader.runAndType(command)
    else this.#keepArchive(await this.#reader.run(command))
  }

  /** Runs a command until it prints what the page shows: what it reports can arrive a moment later. */
  async followUntil(command: string, shown: string): Promise<void> {
    await eventually(async () => assert.equal(await this.#reader.run(command), shown, command))
  }

  /** As ^C. */
  async end(): Promise<void> {
    if (this.#broker !== undefined) assert.equal(await this.#broker.interrupt(), 0)
    this.#broker = undefined
  }

  /** Checks what holds now. */
  async check(checks: readonly Check[]): Promise<void> {
    for (const check of checks) {
      if ('program' in check) await this.#reader.background(check.program).until(check.shows)
      else assert.match(await this.#reader.run(check.command), check.shows, check.command)
    }
  }

  async #checkBefore(command: string): Promise<void> {
    for (const [start, checks] of Object.entries(this.#page.before ?? {})) {
      if (!command.startsWith(`${start} `)) continue
      await this.check(checks)
      this.checked.add(start)
    }
  }

  #fill(command: string): string {
    const file = command.includes('data convert') ? this.#page.exported : this.#archive
    const names = { ...this.#page.names, FILE: file ?? '' }
    return Object.entries(names).reduce(
      (text, [name, value]) => text.replace(new RegExp(`\\b${name}\\b`), value),
      command,
    )
  }

  #keepArchive(output: string): void {
    const named = /(?:exported to|ctl data import|archive is) (\S+\.tar\.gz)/.exec(output)
    this.#archive = named?.[1] ?? this.#archive
  }
}

for (const [name, page] of Object.entries(pages)) {
  // Daily: the pages with most commands, and README.md.
  const testOrLong = page.isDaily === true ? test : longTest
  testOrLong(`${name}, word for word`, (t) => readPage(t, name, page))
}

async function readPage(t: TestContext, name: string, page: Page): Promise<void> {
  const reader = await startReader(t)
  if (reader === undefined) return
  reader.folder = reader.newFolder
  const walk = new Walk(reader, page)
  for (const command of page.has ?? []) await walk.follow(command)
  const blocks = blocksOf(name)
  for (const [index, block] of blocks.entries()) {
    const commands = commandsOf(block)
    const next = blocks[index + 1]
    for (const command of commands) {
      const reason = reasonOf(name, command)
      if (reason !== undefined) t.diagnostic(`NOT RUN: ${command}: ${reason}`)
      else if (next?.word === 'text' && command === commands.at(-1)) await walk.followUntil(command, next.text)
      else await walk.follow(command)
    }
  }
  assert.deepEqual([...walk.checked], Object.keys(page.before ?? {}))
  await walk.check(page.after ?? [])
  for (const pattern of page.prints ?? []) await Promise.any(walk.subscribers.map((each) => each.until(pattern)))
  await walk.end()
}
