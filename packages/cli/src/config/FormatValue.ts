/**
 * Formats a setting's value for messages: as JSON, except for numbers JSON cannot represent, truncated to 200
 * characters.
 */
const max = 200

export const formatValue = (value: unknown): string => {
  const text = typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value))
  return text.length > max ? `${text.slice(0, max)}…` : text
}
