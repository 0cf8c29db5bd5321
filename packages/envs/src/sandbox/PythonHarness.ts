/**
 * Builds the Python code that runs a program, and the Python code that judges one; each in its own interpreter
 * (`PythonLink` between them).
 *
 * The runner takes one job, `{source, serve}`, from its control line. A program alone runs as `__main__` to its end. A
 * tested program runs as a module, reports the names it defines, and then serves the judge's requests until the judge
 * is done. The judge takes any number of jobs, `{number, token, setup, tests, entry, asks}`, and answers `{token,
 * tests}` or `{token, broken}`. Names defined by setup, builtins or the standard library are never the program's
 * (`PythonLibrary`): it cannot pass its own `sorted` or `Counter` to the tests. Modules are imported fresh. Tests that
 * neither call the program nor assert anything are broken. A frame for the judge is prefixed by its job's number:
 * leftovers of an earlier program are not read.
 */
import { pythonLibrary } from "./PythonLibrary.ts"
import { pythonLink } from "./PythonLink.ts"

const runner = String.raw`
class RunnerLink(Link):
    def do(self, what, target, *rest):
        value = scope[target] if isinstance(target, str) else self.kept[target]
        if what == "call":
            return value(*rest[0], **rest[1])
        if what == "get":
            return getattr(value, rest[0])
        if what == "set":
            return setattr(value, *rest)
        if what == "item":
            return value[rest[0]]
        return {"len": len, "iter": iter, "str": str}[what](value)

def main(control_in, control_out, peer_in, peer_out):
    global scope
    job = read_json(lines(control_in)())
    program = type(sys)("program" if job["serve"] else "__main__")
    sys.modules[program.__name__] = program
    scope = program.__dict__
    sys.argv = ["program.py"]
    if job["serve"]:
        serve(job["source"], RunnerLink(lines(peer_in), sender(peer_out)))
    else:
        alone(job["source"])

def serve(source, link):
    try:
        exec(compile(source, "program.py", "exec"), scope)
    except BaseException as error:
        link.send_value([2, 0, *error_text(error)])
        return
    known = [[name, value.__name__ if type(value) is type(sys) else None] for name, value in scope.items()]
    link.send_value([1, 0, known])
    try:
        while True:
            kind, number, question = link.hear()
            link.answer(number, *question)
    except Gone:
        pass

def alone(source):
    try:
        exec(compile(source, "program.py", "exec"), scope)
    except SystemExit:
        raise
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__.tb_next)
        raise SystemExit(1)
`

const judge = String.raw`
class Asserts(ast.NodeTransformer):
    "Counts every assertion; a failed one does not stop those after it. One that asserts a constant is left as it is."
    def __init__(self):
        self.count = 0
    def visit_Assert(self, node):
        if isinstance(node.test, ast.Constant):
            return node
        self.count += 1
        counted = ast.parse(
            "try:\n pass\nexcept Exception as __error__:\n __failed__(%d, __error__)\nelse:\n __passed__()" % node.lineno
        ).body[0]
        counted.body[0] = node
        return counted

class Silence:
    def write(self, text):
        return len(text)
    def flush(self):
        pass

def described(error):
    "Says nothing that the program would have to be asked for, as the text of one of its objects."
    if any(isinstance(one, Remote) for one in error.args):
        return type(error).__name__
    try:
        text = str(error)[:300]
    except Exception:
        text = "?"
    return "%s: %s" % (type(error).__name__, text) if text else type(error).__name__

class Test:
    def __init__(self, source):
        asserts = Asserts()
        tree = asserts.visit(ast.parse(source, "tests"))
        self.count, self.code = asserts.count, compile(tree, "tests", "exec")
        self.texts = source.splitlines()
        self.passed, self.failed, self.error, self.sees = 0, 0, None, False

    def fail(self, line, error):
        self.failed += 1
        if self.error is None:
            self.error = type(error).__name__
            self.error = "%s at: %s" % (described(error), "".join(self.texts[line - 1:line]).strip()[:200])

    def run(self, scope):
        "Fails if a question had no answer, regardless of the test's reaction."
        def passed():
            self.passed += 1
        scope.update(__passed__=passed, __failed__=self.fail)
        before = link.asked, link.answered
        try:
            exec(self.code, scope)
        except BaseException as error:
            line, trace = 1, error.__traceback__.tb_next
            while trace is not None and trace.tb_frame.f_code.co_filename == "tests":
                line, trace = trace.tb_lineno, trace.tb_next
            self.fail(line, error)
        asked, answered = link.asked - before[0], link.answered - before[1]
        self.sees = asked + self.passed + self.failed > 0
        if answered < asked and self.error is None:
            self.error = "the program answered %d of %d calls" % (answered, asked)

    def result(self):
        "A test without an assertion counts as one: that it completes."
        total = max(self.count, self.passed + self.failed, 1)
        whole = self.error is None
        return [total if whole else min(self.passed, total - 1), total, self.error]

def bind(scope, known, job):
    if job["entry"] is not None:
        scope.pop(job["entry"], None)
    for name, module in known:
        if not isinstance(name, str) or name in scope:
            continue
        if hasattr(builtins, name) or name.startswith("__"):
            continue
        if module is None:
            scope[name] = Remote(link, name, name)
        elif module in sys.stdlib_module_names:
            scope[name] = importlib.import_module(module)

def judged(job):
    "Returns the results, regardless of the program; or the reason why the tests cannot run."
    scope = {"__name__": "tests"}
    try:
        scope.update(library_of([job["setup"], *job["tests"]], job["asks"], job["entry"]))
        exec(compile(job["setup"], "setup", "exec"), scope)
        tests = [Test(source) for source in job["tests"]]
    except Exception as error:
        return {"broken": "%s: %s" % (type(error).__name__, error)}
    gone = None
    try:
        kind, _, heard = link.hear()
        if kind == 1:
            bind(scope, heard, job)
        else:
            gone = heard if kind == 2 else Garbled("it asks before it is asked")
    except BaseException as error:
        gone = error
    for test in tests:
        if gone is None:
            test.run(scope)
            gone = link.gone
        if gone is not None:
            test.error = described(gone)
    if tests and not any(test.sees or test.error for test in tests):
        return {"broken": "the tests ask the program nothing and assert nothing: any program would pass"}
    return {"tests": [test.result() for test in tests]}

class JudgeLink(Link):
    gone = None
    def hear(self):
        if self.gone is not None:
            raise self.gone
        try:
            return super().hear()
        except Gone as error:
            self.gone = error
            raise

def main(control_in, control_out, peer_in, peer_out):
    global link
    jobs, frames = lines(control_in), lines(peer_in)
    write = sender(control_out)
    sys.stdout = sys.stderr = Silence()
    while True:
        job = read_json(jobs())
        def receive():
            while True:
                number, _, frame = frames().partition(" ")
                if int(number) == job["number"]:
                    if frame.startswith("!"):
                        raise Gone(frame[1:])
                    return frame
        link = JudgeLink(receive, sender(peer_out))
        write(write_json({"token": job["token"], **judged(job)}))
`

/** An interpreter's lines: an expression each for control in, control out, peer in, peer out. */
type Lines = readonly [string, string, string, string]

/** The whole script of an interpreter, with its system's prelude. */
export const script = (role: "runner" | "judge", descriptors: Lines, prelude = ""): string =>
  `${pythonLink}${role === "runner" ? runner : `${pythonLibrary}${judge}`}${prelude}
try:
    main(${descriptors.join(", ")})
except Gone:
    pass
`
