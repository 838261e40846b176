(* Theorem 5: an encoded row lies in the ball, and sums of products of rows are small enough for float64. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring zify.
From Graphveil Require Import Vectors.
Import Order.Theory GRing.Theory Num.Theory.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Section Rounding.
Variables (R : realDomainType) (I : finType).

(* Integers k next to numbers z (2k next to 2z, so that no half is needed) are in the ball, whatever is within a whole
   step of the norm to which rows are shortened. *)
Theorem rounded (z k : I -> R) (root quarter q room : nat) :
  sq z <= (root - quarter - 2).+1%:R ^+ 2 -> (forall i, `|2%:R * k i - 2%:R * z i| <= 1) ->
  (#|I| < q.+1 ^ 2)%N -> (q <= 2 * quarter + 1)%N -> (quarter + 2 <= root)%N -> (root ^ 2 <= room)%N ->
  sq k <= room%:R.
Proof.
move=> zb kz Iq qh hr rr; set b := (root - quarter - 2)%N in zb.
have rest : sq (fun i => 2%:R * k i - 2%:R * z i) <= q.+1%:R ^+ 2.
  apply: (@le_trans _ _ #|I|%:R); last by rewrite -natrX ler_nat ltnW.
  rewrite -sumr_const; apply: ler_sum => i _.
  rewrite -[_ ^+ 2]real_normK ?num_real // -[X in _ <= X](expr1n _ 2) ler_sqr ?nnegrE ?normr_ge0 ?ler01 //.
have long : sq (fun i => 2%:R * z i) <= (2 * b.+1)%:R ^+ 2.
  by rewrite sq_scale natrM exprMn; apply: ler_wpmul2l; rewrite ?sqr_ge0.
have := sq_add (ler0n _ _) (ler0n _ _) long rest.
rewrite (@eq_sq _ _ _ (fun i => 2%:R * k i)); last by move=> i; rewrite addrC subrK.
rewrite sq_scale -natrD => doubled; apply: (@le_trans _ _ (root ^ 2)%:R); last by rewrite ler_nat.
rewrite -(ler_pmul2l (_ : 0 < 2%:R ^+ 2 :> R)) ?exprn_gt0 ?ltr0Sn //; apply: le_trans doubled _.
rewrite -!natrX -natrM ler_nat -expnMn leq_sqr /b; lia.
Qed.

(* Bounds alone: every coordinate is at most L. *)
Theorem boxed (k : I -> R) (L : R) : (forall i, `|k i| <= L) -> sq k <= #|I|%:R * L ^+ 2.
Proof.
move=> kL; rewrite mulr_natl -sumr_const; apply: ler_sum => i _.
by rewrite -[_ ^+ 2]real_normK ?num_real // ler_sqr ?nnegrE ?normr_ge0 // (le_trans _ (kL i)) ?normr_ge0.
Qed.

(* An entry of the sum over n rows, and every part of that sum. *)
Theorem entry (T : finType) (A : {set T}) (k : T -> I -> R) (B : R) (n : nat) i j :
  (#|A| <= n)%N -> (forall t, sq (k t) <= B) -> 0 <= B -> `|\sum_(t in A) k t i * k t j| <= n%:R * B.
Proof.
move=> An kB B0; apply: le_trans (ler_norm_sum _ _ _) _.
apply: (@le_trans _ _ (\sum_(t in A) B)).
  apply: ler_sum => t _; apply: le_trans (kB t).
  have one a : k t a ^+ 2 <= sq (k t).
    by rewrite /sq (bigD1 a) //= ler_addl; apply: sumr_ge0 => b _; apply: sqr_ge0.
  rewrite -(ler_pmul2l (ltr0Sn R 1)) normrM.
  apply: (@le_trans _ _ (k t i ^+ 2 + k t j ^+ 2)); last by rewrite mulr_natl mulr2n ler_add.
  rewrite -[k t i ^+ 2]real_normK ?num_real // -[k t j ^+ 2]real_normK ?num_real // -subr_ge0.
  have square (a b : R) : a ^+ 2 + b ^+ 2 - 2%:R * (a * b) = (a - b) ^+ 2 by ring.
  by rewrite square sqr_ge0.
by rewrite sumr_const -[B *+ _]mulr_natl; apply: ler_wpmul2r => //; rewrite ler_nat.
Qed.
End Rounding.

(* The loop that shortens a row of integers, as long as it is too long: a step takes something off every coordinate that
   is not 0. It ends, so that its condition does not hold any more, after as many steps as the largest coordinate. *)
Section Loop.
Variable I : finType.
Implicit Types k : I -> int.

Theorem shortened (step : (I -> int) -> I -> int) (most : nat) k :
  (forall k i, (`|step k i| <= `|k i|.-1)%N) ->
  exists2 n, (n <= \max_i `|k i|)%N & (\sum_i `|iter n step k i| ^ 2 <= most)%N.
Proof.
move=> shorter; exists (\max_i `|k i|)%N => //.
have after n i : (`|iter n step k i| <= `|k i| - n)%N.
  by elim: n => [|n IH] /=; rewrite ?subn0 // (leq_trans (shorter _ i)) // subnS -!subn1 leq_sub2r.
rewrite big1 // => i _; apply/eqP; rewrite expn_eq0 -leqn0 andbT (leq_trans (after _ i)) //.
by rewrite leqn0 subn_eq0 (leq_bigmax i).
Qed.
End Loop.
