import {
  type Budget,
  encodeJson,
  isNumber,
  isText,
  joinTexts,
  type RuleArray,
  type RuleText,
  type RuleValue,
  requireString,
  toTextForm,
} from '../../values/index.ts'

/** Returns the elements as a list of SQL values. Quotes in texts are doubled; other characters are not escaped. */
export function formatSqlValues(list: RuleArray, budget: Budget): RuleText {
  const pieces = list.flatMap((item, index) => {
    const piece = formatSqlValue(item, budget)
    return index === 0 ? [piece] : [', ', piece]
  })
  return joinTexts(pieces, budget)
}

function formatSqlValue(value: RuleValue, budget: Budget): RuleText {
  if (value === undefined || value === null) return 'NULL'
  if (typeof value === 'boolean' || isNumber(value)) return toTextForm(value, budget)
  const text = isText(value) ? requireString(value, 'join_to_sql_values_string: a text') : encodeJson(value, budget)
  budget.countCreated(2 * text.length)
  return `'${text.replaceAll("'", "''")}'`
}
