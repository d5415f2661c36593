// Generates docs/errors.md: all result codes, with the operations that return them.

import type { Endpoint } from '../definition/endpoint.ts'
import { type ReasonName, reasons } from '../definition/reasons.ts'
import { type ResultCodeName, resultCodes } from '../definition/result-codes.ts'

/** Codes that any operation may return, and when. */
const everywhere: Partial<Record<ResultCodeName, string>> = {
  success: 'Returned for every successful request.',
  rpcError: 'A shard is restarting: retry. Also for an action or a section that does not exist (404).',
  unknownError:
    'An unknown path (404), a method that the path does not support (404, 405), or an internal error (500).',
  wrongCredentials: 'At login; with status 403 if the account may only read.',
  emptyCredentials: 'At login, if the header is missing, or the name or the password is empty.',
  tokenExpired: 'At login with a token.',
  missingParameter: 'If a required key is missing in the body or in the query.',
  invalidParameter: 'If a value in the path, the query or the body is invalid, or the body is too long.',
  notJson: 'If the operation expects JSON and the body is not JSON.',
}

/** Returns the text of docs/errors.md. */
export function writeErrorsPage(endpoints: Readonly<Record<string, Endpoint>>): string {
  const rows = Object.entries(resultCodes).map(([name, { code, status, sentence }]) => {
    const users = describeUsers(name as ResultCodeName, endpoints)
    return `| ${code} | ${status} | ${sentence} | ${users} |`
  })
  const reasonRows = Object.entries(reasons).map(([name, { result, status, sentence }]) => {
    const users = Object.entries(endpoints).filter(([, endpoint]) => endpoint.reasons?.includes(name as ReasonName))
    const where = users.map(([user]) => `\`${user}\``).join(', ') || 'everywhere'
    return `| \`${name}\` | ${status} | ${resultCodes[result].code} | ${sentence} | ${where} |`
  })
  return `${head}\n${rows.join('\n')}\n\n${headOfReasons}\n${reasonRows.join('\n')}\n`
}

function describeUsers(name: ResultCodeName, endpoints: Readonly<Record<string, Endpoint>>): string {
  const general = everywhere[name]
  const users = Object.entries(endpoints).filter(([, { failures = [] }]) => failures.includes(name))
  // General codes are not repeated for each operation.
  if (general !== undefined) return general
  return users.map(([user]) => `\`${user}\``).join(', ')
}

const head = `# Result codes of the management API

The response to a failed request has a number in \`code\`, and \`message\` says what is wrong, with what, and what to do. A successful request has the
code 0, or its object or list without a code:

\`\`\`json
{ "code": 108, "message": "qos in the body must be <= 2" }
\`\`\`

This page is made from the contract by \`npm run generate\`.

| code | status of HTTP | meaning | where |
| ---: | ---: | --- | --- |`

const headOfReasons = `## Reasons

Errors of requests below \`/api/v5\` also have \`reason\`, the name of the error:

\`\`\`json
{ "code": 105, "reason": "USER_NOT_FOUND", "message": "there is no \\"ann\\"" }
\`\`\`

| reason | status of HTTP | code | meaning | where |
| --- | ---: | ---: | --- | --- |`
