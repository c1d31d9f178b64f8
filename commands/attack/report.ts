import type { AttackRow } from '../../test/attacks/row.js';

/** The table's first lines. */
export const HEAD = [
  '| Attack | Tries | Got through | Cost to the attacker | Cost to us | Note |',
  '| --- | --- | --- | --- | --- | --- |',
];

/** One line of the table. */
export const line = ({
  attack,
  tries,
  gotThrough,
  costToAttacker,
  costToUs,
  note = '',
}: AttackRow) =>
  `| ${attack} | ${tries} | ${gotThrough} | ${costToAttacker} | ${costToUs} | ${note} |`;
