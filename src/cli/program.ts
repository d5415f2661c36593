// The one place that knows commander: which commands there are, and their options.

import { Command, CommanderError } from 'commander'
import { configCheck, configDocs, configExample, configSchema } from './config-commands.ts'
import { type Program, startCommand, type StartOptions } from './start-command.ts'
import { exitCodes, type Terminal } from './terminal.ts'

/** Runs one command. `words` are the arguments behind `godwit`. Gives the exit code of the process. */
export async function runProgram(words: readonly string[], program: Program, terminal: Terminal): Promise<number> {
  let exitCode: number = exitCodes.done
  const run = async (command: () => number | Promise<number>): Promise<void> => {
    exitCode = await command()
  }
  try {
    await commandLine(program, terminal, run).parseAsync(words, { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.wrongUsage
    throw error
  }
}

type Run = (command: () => number | Promise<number>) => Promise<void>

function commandLine(program: Program, terminal: Terminal, run: Run): Command {
  const godwit = quiet(new Command('godwit'), terminal)
    .description('An MQTT 3.1, 3.1.1 and 5.0 broker that loses nothing it has acknowledged.')
    .version(program.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
  addStart(godwit, (options) => run(() => startCommand(options, program, terminal)))
  addConfig(godwit, terminal, run)
  return godwit
}

function addStart(godwit: Command, start: (options: StartOptions) => Promise<void>): void {
  godwit
    .command('start')
    .description('run the broker in the foreground; SIGTERM and SIGINT stop it, SIGHUP reads the configuration again')
    .option('--config <file>', 'configuration file (default: etc/godwit.conf beside the installation, if there)')
    .option('--data <directory>', 'data directory: what must survive a restart')
    .option('--set <key=value>', 'override a setting by its dotted key; may be repeated', gather, [])
    .action((options: { config?: string; data?: string; set: string[] }) =>
      start({ config: options.config, data: options.data, set: options.set }),
    )
}

function addConfig(godwit: Command, terminal: Terminal, run: Run): void {
  const config = godwit
    .command('config')
    .description('check a configuration file, or print what is known about settings')
  config
    .command('check')
    .description('tell every fault of a configuration file, with its line')
    .argument('<file>')
    .option('--json', 'print what was found as one JSON document')
    .action((file: string, options: { json?: true }) =>
      run(() => configCheck({ file, environment: process.env, asJson: options.json === true }, terminal)),
    )
  config
    .command('example')
    .description('print a configuration file with every setting and its default, as comments')
    .action(() => run(() => configExample(terminal)))
  config
    .command('docs')
    .description('print the reference of all settings')
    .action(() => run(() => configDocs(terminal)))
  config
    .command('schema')
    .description('print the JSON Schema of the configuration')
    .action(() => run(() => configSchema(terminal)))
}

const gather = (value: string, before: string[]): string[] => [...before, value]

/** Errors in one line with our name in front; the exit is the caller's. Commands made from this one inherit it. */
function quiet(command: Command, terminal: Terminal): Command {
  return command.exitOverride().configureOutput({
    writeOut: (text) => terminal.output.write(text),
    writeErr: (text) => terminal.errors.write(text),
    outputError: (text, write) => write(`godwit: ${oneLine(text)}; "godwit --help" lists what there is\n`),
  })
}

const oneLine = (text: string): string =>
  text
    .trim()
    .replace(/^error: /, '')
    .replaceAll(/\s*\n\s*/g, ' ')
