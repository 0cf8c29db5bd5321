/** Stores the service's token for this tab's session only. */
const key = "atropos-token"

export const read = (): string | null => {
  try {
    return sessionStorage.getItem(key)
  } catch {
    return inMemory
  }
}

export const write = (token: string): void => {
  inMemory = token
  try {
    sessionStorage.setItem(key, token)
  } catch {
    // A sandboxed page has no storage: the token lasts until it is closed.
  }
}

let inMemory: string | null = null
