// @ts-check
import { parseAst } from 'vite';

/**
 * @typedef {{ type: string, start: number, end: number, [name: string]: any }} Node
 * @typedef {{ id: number, start: number, end: number, line: number, kind: string, text: string, isStatement: boolean, isFixed: boolean }} Mutant
 * A fixed mutant is in the code before it is loaded, since it cannot be switched on later.
 */

const opposites = /** @type {Record<string, string>} */ ({
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '&&': '||',
  '||': '&&',
});
/** Nodes that contain an expression; every other node of TypeScript is a type, and does not exist at run time. */
const carriers = new Set(['TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression']);

/** Ways to break the conditions of a statement; each stays valid to PostgreSQL. */
const ofSql = /** @type {[RegExp, string][]} */ ([
  [/[\w.]+ (?:=|<>|<|>) \$\d/g, '($& or true)'],
  [/\bis null\b/g, 'is not null'],
  [/\bis not null\b/g, 'is null'],
  [/\band\b/g, 'or'],
  [/\bor\b/g, 'and'],
]);

/**
 * Every mutant of a file: conditions that are always true or false, inverted comparisons and logic, omitted throws and
 * statements, emptied strings, flipped booleans, an omitted `where`, and broken conditions in SQL.
 * @param {string} code TypeScript
 * @returns {Mutant[]}
 */
export function findMutants(code) {
  /** @type {Mutant[]} */
  const mutants = [];
  /** @param {{ start: number, end: number }} place @param {string} kind @param {string} text */
  const add = ({ start, end }, kind, text, isStatement = false) => {
    const line = code.slice(0, start).split('\n').length;
    const isFixed = functions === 0 || kind === 'sql';
    mutants.push({ id: mutants.length, start, end, line, kind, text, isStatement, isFixed });
  };
  let functions = 0;
  /** @type {Set<Node>} */
  const names = new Set();
  /** @param {Node} node */
  const source = (node) => code.slice(node.start, node.end);

  /** @param {Node} node */
  function look(node) {
    switch (node.type) {
      case 'IfStatement':
      case 'ConditionalExpression':
        add(node.test, 'condition', 'true');
        add(node.test, 'condition', 'false');
        break;
      case 'BinaryExpression':
      case 'LogicalExpression': {
        const opposite = opposites[node.operator];
        if (opposite) add(node, 'operator', `${source(node.left)} ${opposite} ${source(node.right)}`);
        break;
      }
      case 'UnaryExpression':
        if (node.operator === '!') add(node, 'negation', source(node.argument));
        break;
      case 'Literal':
        if (typeof node.value === 'boolean') add(node, 'truth', String(!node.value));
        if (typeof node.value === 'string' && !lookAtSql(node) && node.value !== '' && !names.has(node))
          add(node, 'text', "''");
        break;
      case 'TemplateElement':
        lookAtSql(node);
        break;
      case 'CallExpression':
        if (isWhere(node)) add(node, 'where', source(node.callee.object));
        // A query without the name of a table or column proves nothing, since it cannot run.
        if (node.callee.type === 'MemberExpression') for (const value of node.arguments) names.add(value);
        break;
      case 'ThrowStatement':
        add(node, 'throw', '', true);
        break;
      case 'ExpressionStatement':
        if (!node.directive) add(node, 'effect', '', true);
        break;
    }
  }

  /** @param {Node} node @returns whether it is SQL */
  function lookAtSql(node) {
    const text = source(node);
    if (!/^\W*(?:select|insert|update|delete|with|where|and|on)\b/.test(text)) return false;
    for (const [pattern, wrong] of ofSql) {
      for (const { index, 0: found } of text.matchAll(pattern)) {
        const start = node.start + index;
        add({ start, end: start + found.length }, 'sql', found.replace(new RegExp(pattern.source), wrong));
      }
    }
    return true;
  }

  /** @param {Node} node */
  function visit(node) {
    const isFunction = /Function/.test(node.type);
    functions += Number(isFunction);
    visitInside(node);
    functions -= Number(isFunction);
  }
  /** @param {Node} node */
  function visitInside(node) {
    if (node.type.startsWith('TS') && !carriers.has(node.type)) return;
    if (/^(?:Import|ExportAll)/.test(node.type)) return;
    look(node);
    for (const [name, child] of Object.entries(node)) {
      const isName = (name === 'key' || name === 'property') && !node.computed;
      if (isName || name === 'typeAnnotation' || name === 'source') continue;
      for (const one of Array.isArray(child) ? child : [child]) if (typeof one?.type === 'string') visit(one);
    }
  }
  visit(/** @type {any} */ (parseAst(code, { lang: 'ts' })));
  return mutants;
}

/** A condition of a query being built: `.where(…)` after something, but not `where.or(…)` or `where(…)`. @param {Node} node */
function isWhere({ callee, arguments: values }) {
  return callee.type === 'MemberExpression' && callee.property.name === 'where' && values.length > 0;
}

/**
 * The code with all mutants in it; `globalThis.mutant` selects the active one.
 * @param {string} code @param {string} file @param {Mutant[]} mutants
 */
export function instrument(code, file, mutants) {
  /** @param {number} start @param {number} end @param {Mutant[]} inside */
  function render(start, end, inside) {
    let text = '';
    let at = start;
    let rest = inside;
    while (rest.length > 0) {
      // The first outermost one, with all others that replace the same piece.
      const [first] = [...rest].sort((a, b) => a.start - b.start || b.end - a.end);
      if (!first) break;
      const same = rest.filter((one) => one.start === first.start && one.end === first.end);
      const nested = rest.filter((one) => !same.includes(one) && one.start >= first.start && one.end <= first.end);
      rest = rest.filter((one) => !same.includes(one) && !nested.includes(one));
      const own = render(first.start, first.end, nested);
      text += code.slice(at, first.start) + choose(same, own);
      at = first.end;
    }
    return text + code.slice(at, end);
  }
  /** @param {Mutant[]} same @param {string} own */
  function choose(same, own) {
    const isAlive = (/** @type {Mutant} */ { id }) => `globalThis.mutant === ${JSON.stringify(`${file}#${id}`)}`;
    if (same[0]?.isStatement) return `{ if (!(${same.map(isAlive).join(' || ')})) { ${own} } }`;
    return `(${same.map((one) => `${isAlive(one)} ? (${one.text}) : `).join('')}(${own}))`;
  }
  return render(
    0,
    code.length,
    mutants.filter(({ isFixed }) => !isFixed),
  );
}

/** The code with one mutant in place of the original. @param {string} code @param {Mutant | undefined} mutant */
export function fix(code, mutant) {
  return mutant ? code.slice(0, mutant.start) + mutant.text + code.slice(mutant.end) : code;
}
