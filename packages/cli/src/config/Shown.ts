/** A value of a setting as messages show it: as JSON, but for the numbers that JSON has not, and never a page of it. */
const most = 200

export const shown = (value: unknown): string => {
  const text = typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value))
  return text.length > most ? `${text.slice(0, most)}…` : text
}
