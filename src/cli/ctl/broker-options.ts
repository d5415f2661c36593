// Options that select the broker of a `ctl` command. They are also accepted before the command: `ctl --data DIR clients list`.

import type { CtlCommand } from './ctl-command.ts'

interface BrokerOption {
  readonly flags: string
  readonly description: string
}

/** Options of every command that connects to a broker. */
export const brokerOptions: readonly BrokerOption[] = [
  {
    flags: '--data <directory>',
    description: 'data directory of the broker, which has its control socket (default: $GODWIT_DATA)',
  },
  {
    flags: '--config <file>',
    description: 'configuration of the broker, which names its data directory (default: $GODWIT_CONFIG)',
  },
  { flags: '--url <url>', description: 'use the HTTP API of a broker: http://host:port' },
  { flags: '--username <name>', description: 'user name of an account, or ID of an API key' },
  { flags: '--password-stdin', description: 'read the password from stdin (default: prompt on the terminal)' },
  { flags: '--token-stdin', description: 'log in with a JSON Web Token, read from stdin' },
  { flags: '--namespace <name>', description: 'namespace to which the command applies' },
]

/** An option of every command. */
export const jsonOption: BrokerOption = { flags: '--json', description: 'print one JSON document' }

/** Moves these options from before the name of the `ctl` command to after it. Other command lines are returned unchanged. */
export function moveOptionsAfterCommand(args: readonly string[], commands: readonly CtlCommand[]): readonly string[] {
  if (args[0] !== 'ctl') return args
  const path: string[] = []
  const options: string[] = []
  let at = 1
  while (at < args.length && !commands.some(({ name }) => name === path.join(' '))) {
    const count = countOfOption(args[at] ?? '')
    if (count === 0) path.push(args[at] ?? '')
    options.push(...args.slice(at, at + count))
    at += Math.max(1, count)
  }
  return ['ctl', ...path, ...options, ...args.slice(at)]
}

/** Returns the number of arguments of an option with its value: 1 for `--data=DIR`, 2 for `--data DIR`, 0 if it is none of these options. */
function countOfOption(argument: string): number {
  const [name] = argument.split('=', 1)
  const option = [...brokerOptions, jsonOption].find(({ flags }) => flags.split(' ')[0] === name)
  if (option === undefined) return 0
  return option.flags.includes('<') && !argument.includes('=') ? 2 : 1
}
