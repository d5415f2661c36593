// Defines the commands and their options. Only this file uses commander. Modules that only some commands need, such as the broker
// itself, are loaded by them: without them, `ctl` takes half the time.

import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { addProbeOptions, benchScenarios } from './probe-options.ts'
import { type CompletedCommand, completedShells, type CompletedShell, createCompletionScript } from './completion.ts'
import type { BenchArguments } from './bench-command.ts'
import type { ConformanceArguments } from './conformance-command.ts'
import type { CrdArguments, RenderArguments, ValidateArguments } from './deploy/deploy-commands.ts'
import type { OperatorArguments } from './deploy/operator-command.ts'
import { brokerOptions, jsonOption, moveOptionsAfterCommand } from './ctl/broker-options.ts'
import { ctlCommands, ctlGroups } from './ctl/commands/ctl-commands.ts'
import type { CtlCommand } from './ctl/ctl-command.ts'
import { type CtlInvocation, runCtl } from './ctl/run-ctl.ts'
import type { ImportArguments } from './import-command.ts'
import { type DescribedCommand, createManPages } from './man-pages.ts'
import { type PluginCommand, pluginCommands } from './plugins/plugin-command-list.ts'
import type { Program, StartOptions } from './start-command.ts'
import { exitCodes, type Terminal } from './terminal/terminal.ts'

/** Runs one command. `args` are the arguments after `godwit`. Returns the exit code of the process. */
export async function runProgram(args: readonly string[], program: Program, terminal: Terminal): Promise<number> {
  const words = moveOptionsAfterCommand(args, ctlCommands)
  let exitCode: number = exitCodes.done
  const run = async (command: () => number | Promise<number>): Promise<void> => {
    exitCode = await command()
  }
  try {
    await createCommandLine(program, terminal, run, words).parseAsync(words, { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.wrongUsage
    throw error
  }
}

type Run = (command: () => number | Promise<number>) => Promise<void>

function createCommandLine(program: Program, terminal: Terminal, run: Run, args: readonly string[]): Command {
  const godwit: Command = configureErrorOutput(new Command('godwit'), terminal, () => findNearestHelp(godwit, args))
    .description('An MQTT 3.1, 3.1.1 and 5.0 broker that loses nothing it has acknowledged.')
    .version(program.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
  addStart(godwit, program, (options) =>
    run(async () => (await import('./start-command.ts')).runStartCommand(options, program, terminal)),
  )
  addInit(godwit, program, terminal, run)
  addConfig(godwit, terminal, run)
  addCtl(godwit, args, { program, terminal, run })
  addPlugins(godwit, { program, terminal, run })
  addImport(godwit, program, terminal, run)
  addDeploy(godwit, terminal, run)
  addProbes(godwit, terminal, run)
  addCompletion(godwit, terminal, run)
  addMan(godwit, program, terminal, run)
  return godwit
}

function addStart(
  godwit: Command,
  { environment = {} }: Program,
  start: (options: StartOptions) => Promise<void>,
): void {
  godwit
    .command('start')
    .description('run the broker in the foreground; SIGTERM and SIGINT stop it, SIGHUP reads the configuration again')
    .option(
      '--config <file>',
      'configuration file (default: $GODWIT_CONFIG, then godwit.conf in the data directory, then /etc/godwit/godwit.conf, then the defaults)',
    )
    .option(
      '--data <directory>',
      'data directory, which contains all stored data (default: $GODWIT_DATA)',
      parseNonEmpty,
    )
    .option('--set <key=value>', 'override a setting by its dotted key; may be repeated', gather, [])
    .action((options: { config?: string; data?: string; set: string[] }) =>
      start({ ...resolvePlaces(options, environment), set: options.set }),
    )
}

interface Places {
  readonly config: string | undefined
  readonly data: string | undefined
}

/** An option has priority over the variable. An empty variable is ignored. */
function resolvePlaces(
  options: { config?: string; data?: string },
  environment: NonNullable<Program['environment']>,
): Places {
  const readVariable = (name: string): string | undefined =>
    environment[name]?.trim() === '' ? undefined : environment[name]
  return { config: options.config ?? readVariable('GODWIT_CONFIG'), data: options.data ?? readVariable('GODWIT_DATA') }
}

function addInit(godwit: Command, { installation, environment = {} }: Program, terminal: Terminal, run: Run): void {
  godwit
    .command('init')
    .description('write a new configuration file, with every setting and its default as comments')
    .option(
      '--config <file>',
      'the new file (default: $GODWIT_CONFIG, then /etc/godwit/godwit.conf for root, otherwise godwit.conf in the data directory)',
    )
    .option('--data <directory>', 'data directory, in which the file is written (default: $GODWIT_DATA)', parseNonEmpty)
    .action((options: { config?: string; data?: string }) =>
      run(async () =>
        (await import('./init-command.ts')).runInitCommand(resolvePlaces(options, environment), installation, terminal),
      ),
    )
}

const loadConfigCommands = () => import('./config-commands.ts')

function addConfig(godwit: Command, terminal: Terminal, run: Run): void {
  const config = godwit
    .command('config')
    .description('check a configuration file, or print an example, the reference or the schema of settings')
  config
    .command('check')
    .description('report every error of a configuration file that start would refuse, with its line')
    .argument('<file>')
    .option('--ports', 'also report ports that are in use')
    .option('--json', 'print the errors as one JSON document')
    .action((file: string, options: { json?: true; ports?: true }) =>
      run(async () =>
        (await loadConfigCommands()).checkConfig(
          { file, environment: process.env, asJson: options.json === true, checksPorts: options.ports === true },
          terminal,
        ),
      ),
    )
  config
    .command('example')
    .description('print a configuration file with every setting and its default, as comments')
    .action(() => run(async () => (await loadConfigCommands()).printConfigExample(terminal)))
  config
    .command('docs')
    .description('print the reference of all settings')
    .action(() => run(async () => (await loadConfigCommands()).printConfigDocs(terminal)))
  config
    .command('schema')
    .description('print the JSON Schema of the configuration')
    .action(() => run(async () => (await loadConfigCommands()).printConfigSchema(terminal)))
}

function addImport(godwit: Command, { environment = {} }: Program, terminal: Terminal, run: Run): void {
  godwit
    .command('import')
    .description('convert files of another broker to files of Godwit')
    .command('mosquitto')
    .description(
      'convert configuration, password file, ACL file, retained messages and sessions of mosquitto 1.4 to 2.0',
    )
    .option(
      '--conf <file>',
      'configuration file of mosquitto, which names the other files',
      '/etc/mosquitto/mosquitto.conf',
    )
    .option(
      '--database <file>',
      'database of mosquitto (default: as its configuration says); stop mosquitto before the import',
    )
    .option('--output <directory>', 'directory for godwit.conf, acl.conf and the archive', './from-mosquitto')
    .option(
      '--data <directory>',
      'data directory to which the sessions are written; its broker must not run (default: $GODWIT_DATA; without it, sessions are not imported)',
      parseNonEmpty,
    )
    .action((args: ImportArguments) =>
      run(async () =>
        (await import('./import-command.ts')).importMosquitto(
          { ...args, data: resolvePlaces(args, environment).data },
          terminal,
        ),
      ),
    )
}

const loadDeployCommands = () => import('./deploy/deploy-commands.ts')

function addDeploy(godwit: Command, terminal: Terminal, run: Run): void {
  const deploy = godwit
    .command('deploy')
    .description('validate resources of Kubernetes for clusters of brokers, and print the objects that they stand for')
  deploy
    .command('render')
    .description('print the objects of the clusters in a file; nothing is printed if a resource is invalid')
    .argument('<file>', 'file with resources, or - for standard input')
    .addOption(new Option('-o, --output <format>', 'format of the objects').choices(['yaml', 'json']).default('yaml'))
    .option('--namespace <name>', 'namespace of the objects (default: that of each resource)', parseNonEmpty)
    .option(
      '--with-secrets',
      'also print the Secrets of the administrator and of the operator, with new random content',
    )
    .action((file: string, args: RenderArguments) =>
      run(async () => (await loadDeployCommands()).runRender(file, args, terminal)),
    )
  deploy
    .command('crd')
    .description('print the definitions of the resources for the API server')
    .option('--emqx', 'print the definition of the EmqxEnterprise resource instead')
    .addOption(
      new Option('-o, --output <format>', 'format of the definitions').choices(['yaml', 'json']).default('yaml'),
    )
    .action((args: CrdArguments) => run(async () => (await loadDeployCommands()).printCrds(args, terminal)))
  deploy
    .command('validate')
    .description('report every error of the resources in a file, with its line')
    .argument('<file>', 'file with resources, or - for standard input')
    .option('--previous <file>', 'also check whether the resources in this file may change to those', parseNonEmpty)
    .option('--json', 'print the errors as one JSON document')
    .action((file: string, args: ValidateArguments) =>
      run(async () => (await loadDeployCommands()).runValidate(file, args, terminal)),
    )
  addOperator(deploy, terminal, run)
}

function addOperator(deploy: Command, terminal: Terminal, run: Run): void {
  deploy
    .command('operator')
    .description(
      'run the operator, which makes clusters of the resources in Kubernetes and keeps them as they are described',
    )
    .option(
      '--namespace <name>',
      'namespace with resources; may be repeated (default: that of the operator)',
      gather,
      [],
    )
    .option('--all-namespaces', 'serve the resources of all namespaces')
    .option('--emqx-group', 'also serve resources of the kind EmqxEnterprise')
    .option('--no-leader-election', 'work without a lease: no other operator may run')
    .option(
      '--kubeconfig <file>',
      'connect as this file says (default: with the service account of the pod)',
      parseNonEmpty,
    )
    .option('--health-port <port>', 'port of /healthz, /readyz and /metrics', '8080')
    .action((args: OperatorArguments) =>
      run(async () => (await import('./deploy/operator-command.ts')).runOperator(args, terminal)),
    )
}

function addProbes(godwit: Command, terminal: Terminal, run: Run): void {
  addProbeOptions(
    godwit
      .command('conformance')
      .description('check whether a broker conforms to the statements of MQTT 3.1.1 and 5.0'),
  )
    .option('--protocol <level>', 'protocol level: 4 (MQTT 3.1.1) or 5 (default: both)')
    .option('--timeout <milliseconds>', 'maximum time to wait for a response, in milliseconds', '2000')
    .option('--json', 'print the results as one JSON document')
    .action((args: ConformanceArguments) =>
      run(async () => (await import('./conformance-command.ts')).runConformanceCommand(args, terminal)),
    )
  const bench = godwit
    .command('bench')
    .description('measure the performance of a broker; prints rates and percentiles of each second')
  for (const { name, description } of benchScenarios) {
    const command = addProbeOptions(bench.command(name).description(description))
    command
      .option('--clients <number>', 'number of clients at one time', '10')
      .option('--seconds <number>', 'duration of the measurement in seconds', '10')
      .option('--rate <number>', 'maximum messages or connections per second (default: no limit)')
      .option('--qos <level>', 'QoS of publications and subscriptions: 0, 1 or 2', '1')
      .option('--size <bytes>', 'size of each payload, in bytes', '64')
      .option('--protocol <level>', 'protocol level: 4 (MQTT 3.1.1) or 5', '5')
      .option('--json', 'print the result as one JSON document')
      .action((args: BenchArguments) =>
        run(async () => (await import('./bench-command.ts')).runBenchCommand(name, args, terminal)),
      )
  }
}

function addCompletion(godwit: Command, terminal: Terminal, run: Run): void {
  godwit
    .command('completion')
    .description('print the completion script of a shell; to use it: source <(godwit completion bash)')
    .addArgument(new Argument('<shell>').choices(completedShells))
    .action((shell: CompletedShell) =>
      run(() => {
        terminal.print(createCompletionScript(shell, listCompletedCommands(godwit, [])))
        return exitCodes.done
      }),
    )
}

function addMan(godwit: Command, { version }: Program, terminal: Terminal, run: Run): void {
  godwit
    .command('man')
    .description('write the manual pages, or print one; to read it: godwit man ctl | man -l -')
    .argument('[command]', 'command whose page is printed (default: godwit)')
    .option('--output <directory>', 'write all pages into this directory', parseNonEmpty)
    .action((command: string | undefined, { output }: { output?: string }) =>
      run(async () =>
        (await import('./man-command.ts')).runManCommand(
          { pages: createManPages(describeCommand(godwit, []), version), command, directory: output },
          terminal,
        ),
      ),
    )
}

function describeCommand(command: Command, path: readonly string[]): DescribedCommand {
  const help = command.createHelp()
  const below = help.visibleCommands(command).filter((each) => command.commands.includes(each))
  return {
    path,
    usage: help.commandUsage(command),
    description: command.description(),
    options: help.visibleOptions(command).map(({ flags, description }) => [flags, description]),
    commands: below.map((each) => describeCommand(each, [...path, each.name()])),
  }
}

/** The command and all below it, as `--help` lists them. */
function listCompletedCommands(command: Command, path: readonly string[]): CompletedCommand[] {
  const help = command.createHelp()
  const below = help.visibleCommands(command).filter((each) => command.commands.includes(each))
  const options = help
    .visibleOptions(command)
    .flatMap(({ long, description }) => (long ? [{ word: long, description }] : []))
  const words = [...below.map((each) => ({ word: each.name(), description: each.description() })), ...options]
  return [
    { path: path.join(' '), words },
    ...below.flatMap((each) => listCompletedCommands(each, [...path, each.name()])),
  ]
}

interface CtlContext {
  readonly program: Program
  readonly terminal: Terminal
  readonly run: Run
}

/**
 * Adds the commands of `ctl`, which are objects. The first word of a name with two words is a group. If `words` select a command or a group, the
 * others are added without their options: all options take more time than most commands.
 */
function addCtl(godwit: Command, args: readonly string[], context: CtlContext): void {
  const selected = args[0] === 'ctl' ? ctlCommands.filter((command) => readFirstWord(command) === args[1]) : []
  const ctl = godwit.command('ctl').description('inspect and control a running broker')
  const groups = new Map<string, Command>()
  for (const command of ctlCommands) {
    const [first = '', second] = command.name.split(' ')
    const isNeeded = selected.length === 0 || selected.includes(command)
    if (second === undefined) {
      const added = ctl.command(first)
      if (isNeeded) addCtlCommand(added, command, context)
      continue
    }
    const group = groups.get(first) ?? ctl.command(first).description(ctlGroups[first] ?? '')
    groups.set(first, group)
    const added = group.command(second)
    if (isNeeded) addCtlCommand(added, command, context)
  }
}

const readFirstWord = ({ name }: CtlCommand): string => name.split(' ', 1)[0] ?? ''

function addCtlCommand(added: Command, command: CtlCommand, { program, terminal, run }: CtlContext): void {
  added.description(command.description)
  for (const word of command.arguments ?? []) added.argument(word)
  for (const { flags, description } of command.options ?? []) added.option(flags, description)
  addBrokerOptions(added, command.isLocal === true)
  added.action(() => {
    const invocation = readInvocation(added, program)
    return run(() => runCtl(command, invocation, { installation: program.installation, terminal }))
  })
}

function addPlugins(godwit: Command, context: CtlContext): void {
  const group = godwit
    .command('plugins')
    .description('install, start and order plugins, whether the broker runs or not')
  for (const command of pluginCommands) addPluginCommand(group.command(command.name), command, context)
}

function addPluginCommand(added: Command, command: PluginCommand, { program, terminal, run }: CtlContext): void {
  added.description(command.description)
  for (const word of command.arguments ?? []) added.argument(word)
  for (const { flags, description } of command.options ?? []) added.option(flags, description)
  addBrokerOptions(added)
  added.action(() => {
    const invocation = readInvocation(added, program)
    return run(async () =>
      (await import('./plugins/run-plugin-command.ts')).runPluginCommand(command, invocation, {
        installation: program.installation,
        terminal,
      }),
    )
  })
}

/** Options of a command that connects to a broker, and of its output. */
function addBrokerOptions(added: Command, isLocal = false): void {
  added.option(jsonOption.flags, jsonOption.description)
  for (const { flags, description } of isLocal ? [] : brokerOptions) {
    if (flags.startsWith('--data')) added.option(flags, description, parseNonEmpty)
    else added.option(flags, description)
  }
}

function readInvocation(added: Command, { environment = {} }: Program): CtlInvocation {
  const options = added.opts<Record<string, string | true | undefined>>()
  const operands = added.processedArgs.flat().filter((operand): operand is string => typeof operand === 'string')
  const connect =
    options['url'] === undefined ? { ...options, ...omitUndefined(resolvePlaces(options, environment)) } : options
  return { operands, options, connect, asJson: options['json'] === true }
}

function omitUndefined({ config, data }: Places): { config?: string; data?: string } {
  return { ...(config === undefined ? {} : { config }), ...(data === undefined ? {} : { data }) }
}

/** `--data "$UNSET"` means no directory, and not the current one. */
function parseNonEmpty(value: string): string {
  if (value.trim() === '') throw new InvalidArgumentError('The value is empty.')
  return value
}

const gather = (value: string, before: string[]): string[] => [...before, value]

/** Prints errors on one line after the name of the program; the caller exits. Commands that are created from this one inherit it. */
function configureErrorOutput(command: Command, terminal: Terminal, help: () => string): Command {
  return command.exitOverride().configureOutput({
    writeOut: (text) => terminal.output.write(text),
    writeErr: (text) => terminal.errors.write(text),
    outputError: (text, write) => write(`godwit: ${toOneLine(text)}; "${help()}" lists the commands and options\n`),
  })
}

/** Returns the `--help` command line of the innermost command that `args` name. */
function findNearestHelp(godwit: Command, args: readonly string[]): string {
  const names = ['godwit']
  let command: Command | undefined = godwit
  for (const argument of args) {
    command = command.commands.find((one) => one.name() === argument)
    if (command === undefined) break
    names.push(argument)
  }
  return `${names.join(' ')} --help`
}

const toOneLine = (text: string): string =>
  text
    .trim()
    .replace(/^error: /, '')
    .replace(/\.$/, '')
    .replaceAll(/\s*\n\s*/g, ' ')
