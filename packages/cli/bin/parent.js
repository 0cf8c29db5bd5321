/**
 * Ends this process with the one that stands for it.
 *
 * npm 10 and 11 put `sh -c` around a command and pass SIGTERM to that shell alone, which dies of it; and a wrapper that
 * is killed by -9 passes on nothing. In both cases the program would run on, with nobody who knows of it. So it looks
 * whether its parent is still there, and asks itself to stop when that has gone. Only where the parent is npm's shell
 * for this very command, or our own wrapper: what somebody put into the background (`nohup … &`) outlives its shell on
 * purpose. Plain JavaScript that Node 18 understands.
 */

/** Set by the wrapper for the process it starts: its own process id. */
export const wrapperVariable = "ATROPOS_WRAPPER_PID"

const everyMillis = 250

/** Whether npm runs a script that is this command, in the foreground. */
export const isOfNpm = (script) =>
  /(^|[\s/'"])atropos[\w-]*(\.js)?(?=['"\s]|$)/.test(script) && !/(^|[^&])&([^&]|$)/.test(script)

const isThere = (pid) => {
  if (process.ppid !== pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code !== "ESRCH"
  }
}

/** Watches the parent for as long as the process lives, where there is one to watch; keeps nothing from ending. */
export const watch = () => {
  const wrapper = Number(process.env[wrapperVariable])
  delete process.env[wrapperVariable]
  const parent = wrapper || (isOfNpm(process.env.npm_lifecycle_script ?? "") ? process.ppid : 0)
  if (parent === 0) return
  const timer = setInterval(() => {
    if (isThere(parent)) return
    clearInterval(timer)
    console.error("atropos: stopping, as the process that started it has ended")
    process.kill(process.pid, "SIGTERM")
  }, everyMillis)
  timer.unref()
}
