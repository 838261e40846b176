(* More theorems for integers: counts, signs and moments. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring zify ssrZ.
From Graphveil Require Formulas Moments Columns.
From Graphveil Require Import Vectors Definitions Integers.
Import Order.Theory GRing.Theory Num.Theory.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Local Open Scope ring_scope.
Delimit Scope Z_scope with z. (* %Z means int, in mathcomp *)

(* ------------------------------------------------------------------ counts and signs *)
Definition any (A : Type) (_ : A) := True.

Section Counts.
Variables J I : finType.

Let countE (cell : cells J I) : count cell =1 (Columns.counts _ cell : _ -> Z).
Proof. by move=> ji; rewrite /count /Columns.counts; case: (_ == _). Qed.

Lemma counts_apart : apart (@count J I) (@any _) (2%:R * Z.of_nat #|J|).
Proof.
move=> x y _ _; rewrite /distance; under eq_bigr do rewrite !countE.
by rewrite -natZ; apply: (@Columns.counts_apart).
Qed.

Lemma counts_alone : alone (@count J I) (@any _) (Z.of_nat #|J|).
Proof.
move=> x _; rewrite /square; under eq_bigr do rewrite !countE.
by rewrite -natZ; apply: (@Columns.counts_alone).
Qed.
End Counts.

Section Signs.
Variable n : nat.

Let pairE (u : 'I_n -> bool) : sign_pair u =1 (Columns.pairs _ (fun i => ~~ u i) : _ -> Z).
Proof. by move=> [i j]; rewrite /sign_pair /Columns.pairs /sign /Columns.sign /=; do 2!case: (u _). Qed.

Let quarter : ((n ^ 2) %/ 4)%N%:R = (Z.of_nat n ^ 2 / 4)%z :> Z.
Proof.
rewrite natZ; apply: (Z.div_unique _ _ _ (Z.of_nat ((n ^ 2) %% 4)%N)); first by left; have := ltn_pmod (n ^ 2) (isT : 0 < 4)%N; lia.
have := divn_eq (n ^ 2) 4; rewrite -mulnn Z.pow_2_r; lia.
Qed.

Lemma signs_apart : apart (@sign_pair n) (@any _) (4 * (Z.of_nat n ^ 2 / 4))%z.
Proof.
move=> x y _ _; rewrite /distance; under eq_bigr do rewrite !pairE.
by rewrite -quarter; apply: le_trans (Columns.pairs_apart _ _ _) _; rewrite [4%:R]natZ; exact: lexx.
Qed.

Lemma signs_alone : alone (@sign_pair n) (@any _) (4 * (Z.of_nat n ^ 2 / 4))%z.
Proof.
move=> x _; rewrite /square; under eq_bigr do rewrite !pairE.
by rewrite -quarter; apply: le_trans (Columns.pairs_alone _ _) _; rewrite [4%:R]natZ; exact: lexx.
Qed.
End Signs.

(* ------------------------------------------------------------------ moments *)
Section Moments.
Variable p : nat.

(* A symmetric matrix: the diagonal, and what is above it twice. *)
Lemma upper_triangle (F : 'I_p -> 'I_p -> Z) : (forall i j, F i j = F j i) ->
  \sum_i \sum_j F i j = \sum_i F i i + 2%:R * (\sum_(i < p) \sum_(j < p | (i < j)%N) F i j).
Proof.
move=> Fs; have lower : \sum_(i < p) \sum_(j < p | (j < i)%N) F i j = \sum_(i < p) \sum_(j < p | (i < j)%N) F i j.
  rewrite (exchange_big_dep xpredT) //=; apply: eq_bigr => i _.
  by apply: eq_bigr => j _; apply: Fs.
have -> : 2%:R * (\sum_(i < p) \sum_(j < p | (i < j)%N) F i j)
        = \sum_(i < p) \sum_(j < p | (j < i)%N) F i j + \sum_(i < p) \sum_(j < p | (i < j)%N) F i j.
  by rewrite lower; ring.
rewrite addrA -2!big_split; apply: eq_bigr => i _ /=.
rewrite (bigD1 i) //= (bigID (fun j : 'I_p => (j < i)%N)) /= addrA.
by congr (_ + _ + _); apply: eq_bigl => j; rewrite -(inj_eq val_inj) /=; case: ltngtP.
Qed.

Section Core.
Variables (S T : finType) (x : S -> appended p) (y : T -> appended p) (P C : Z).

Let triangle (D : 'I_p -> 'I_p -> Z) d : (forall i j, D i j = D j i) ->
  without_trace D d = Moments.frobenius D d.
Proof. by move=> Ds; rewrite /Moments.frobenius upper_triangle // => i j; rewrite Ds. Qed.

Let symmetric (U : finType) (z : U -> appended p) i j : moment z i j = moment z j i.
Proof. by apply: eq_bigr => t _; rewrite mulrC. Qed.

Lemma moments_replaced :
  \sum_s square (x s).1 <= P -> \sum_t square (y t).1 <= P -> \sum_s (x s).2 ^+ 2 <= C -> \sum_t (y t).2 ^+ 2 <= C ->
  with_trace (fun i j => moment x i j - moment y i j) (fun i => cross x i - cross y i) <= 2%:R * (P + C) ^+ 2.
Proof.
move=> xP yP xC yC; rewrite /with_trace triangle; last by move=> i j; rewrite ![_ i j]symmetric.
exact: (@Moments.replaced _ _ _ _ (fun s => (x s).1) (fun s => (x s).2) (fun t => (y t).1) (fun t => (y t).2)).
Qed.

Lemma moments_added : \sum_s square (x s).1 + \sum_s (x s).2 ^+ 2 <= P ->
  without_trace (moment x) (cross x) <= P ^+ 2.
Proof. by move=> xP; rewrite triangle //; apply: (@Moments.added _ _ _ (fun s => (x s).1) (fun s => (x s).2)). Qed.
End Core.
End Moments.
