// Checks the SQL of rules.

import { compileRule, RuleCompileError } from '../../rules/index.ts'

/** Maximum number of checked statements that are known, and of their characters. */
const maxKnownStatements = 20_000
const maxKnownCharacters = 16_777_216

/**
 * Statements that were checked. Each change of the configuration checks all rules, of which nearly all are as before. A statement is valid or
 * not whatever the configuration is.
 */
const knownStatements = { problems: new Map<string, string | undefined>(), characters: 0 }

/** Returns why SQL is invalid, with line, column and a caret. */
export function findSqlProblem(sql: string): string | undefined {
  const { problems } = knownStatements
  if (problems.has(sql)) return problems.get(sql)
  const problem = checkSql(sql)
  if (problems.size >= maxKnownStatements || knownStatements.characters + sql.length > maxKnownCharacters) {
    problems.clear()
    knownStatements.characters = 0
  }
  problems.set(sql, problem)
  knownStatements.characters += sql.length
  return problem
}

function checkSql(sql: string): string | undefined {
  try {
    compileRule(sql)
    return undefined
  } catch (error) {
    if (!(error instanceof RuleCompileError)) throw error
    return error.message
  }
}
