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

Let ext D D' d d' : (forall i j, D i j = D' i j) -> (forall i, d i = d' i) ->
  @without_trace p D d = without_trace D' d' /\ @with_trace p D d = with_trace D' d'.
Proof.
move=> DD dd; have E : @without_trace p D d = without_trace D' d'.
  rewrite /without_trace; congr (_ + _ + _).
  - by apply: eq_bigr => i _; rewrite DD.
  - by congr (_ * _); apply: eq_bigr => i _; apply: eq_bigr => j _; rewrite DD.
  - by congr (_ * _); apply: eq_bigr => i _; rewrite dd.
by split=> //; rewrite /with_trace E; congr (_ + _ ^+ 2); apply: eq_bigr => i _; rewrite DD.
Qed.

Section Bounds.
Variables row_square constant : Z.
Hypothesis row_square_ge0 : 0 <= row_square.

(* The rows of a set, and nothing in place of all others. *)
Let only n (B : {set 'I_n}) (x : 'I_n -> appended p) t : appended p := if t \in B then x t else (fun=> 0, 0).

Let sum_only n (B : {set 'I_n}) (x : 'I_n -> appended p) (F : appended p -> Z) : F (fun=> 0, 0) = 0 ->
  \sum_t F (only B x t) = \sum_(t in B) F (x t).
Proof. by move=> F0; rewrite [RHS]big_mkcond; apply: eq_bigr => t _; rewrite /only; case: (t \in B). Qed.

Let square0 : square (fun _ : 'I_p => 0 : Z) = 0.
Proof. by rewrite /square big1 // => i _; rewrite expr0n. Qed.

Let at_most n m (B : {set 'I_n}) (x : 'I_n -> appended p) : (#|B| <= m)%N ->
  (forall t, encoded row_square constant (x t)) ->
  \sum_t square (only B x t).1 <= Z.of_nat m * row_square /\ \sum_t (only B x t).2 ^+ 2 <= Z.of_nat m * constant ^+ 2.
Proof.
move=> Bm ex; have few (F : 'I_n -> Z) D : 0 <= D -> (forall t, F t <= D) -> \sum_(t in B) F t <= Z.of_nat m * D.
  move=> D0 FD; apply: (@le_trans _ _ (\sum_(t in B) D)); first exact: ler_sum.
  by rewrite sumr_const -[D *+ _]mulr_natl -natZ; apply: ler_wpmul2r => //; rewrite ler_nat.
rewrite (sum_only B x (F := fun z => square z.1)) ?(sum_only B x (F := fun z => z.2 ^+ 2)) ?expr0n ?square0 //.
by split; apply: few => [|t]; rewrite ?sqr_ge0 //; case: (ex t) => // _ ->.
Qed.

Lemma rows_replaced : moments_rows_replaced p row_square constant (Formulas.moment_square (row_square + constant ^+ 2)).
Proof.
move=> n m B x y Bm ex ey xy; have [xP xC] := at_most Bm ex; have [yP yC] := at_most Bm ey.
have -> : Formulas.moment_square (row_square + constant ^+ 2) (Z.of_nat m)
        = 2%:R * (Z.of_nat m * row_square + Z.of_nat m * constant ^+ 2) ^+ 2.
  by rewrite /Formulas.moment_square powE [2%:R]natZ -mulrDr.
apply: le_trans (moments_replaced xP yP xC yC).
have same (F : appended p -> Z) : F (fun=> 0, 0) = 0 ->
    \sum_t F (x t) - \sum_t F (y t) = \sum_t F (only B x t) - \sum_t F (only B y t).
  move=> F0; rewrite -!sumrB; apply: eq_bigr => t _; rewrite /only.
  by case: (boolP (t \in B)) => // tB; rewrite xy // F0 !subrr.
rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: (proj2 (ext _ _)) => [i j|i].
  by apply: (same (fun z => z.1 i * z.1 j)); rewrite mulr0.
by apply: (same (fun z => z.1 i * z.2)); rewrite mulr0.
Qed.

Lemma rows_added : moments_rows_added p row_square constant (Formulas.added_moment_square (row_square + constant ^+ 2)).
Proof.
move=> n m B x Bm ex; have [xP xC] := at_most Bm ex.
have -> : Formulas.added_moment_square (row_square + constant ^+ 2) (Z.of_nat m)
        = (Z.of_nat m * row_square + Z.of_nat m * constant ^+ 2) ^+ 2.
  by rewrite /Formulas.added_moment_square powE -mulrDr.
apply: le_trans (moments_added (ler_add xP xC)).
have same (F : appended p -> Z) : F (fun=> 0, 0) = 0 ->
    \sum_t F (x t) - \sum_(t | t \notin B) F (x t) = \sum_t F (only B x t).
  by move=> F0; rewrite sum_only // (bigID (mem B)) /= addrK.
rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: (proj1 (ext _ _)) => [i j|i].
  by apply: (same (fun z => z.1 i * z.1 j)); rewrite mulr0.
by apply: (same (fun z => z.1 i * z.2)); rewrite mulr0.
Qed.

Let fits (T : finType) (w : T -> Z) (x : T -> appended p) W : 0 < W -> weighs w W ->
  (forall t, shortened row_square constant W (w t) (x t)) ->
  \sum_t square (x t).1 <= row_square /\ \sum_t (x t).2 ^+ 2 <= constant ^+ 2.
Proof.
move=> W0 [w0 wW] xW.
have fit (F : T -> Z) D : 0 <= D -> (forall t, W * F t <= D * w t) -> \sum_t F t <= D.
  move=> D0 FD; rewrite -(ler_pmul2l W0) mulr_sumr; apply: (@le_trans _ _ (\sum_t D * w t)); first exact: ler_sum.
  by rewrite -mulr_sumr mulrC; apply: ler_wpmul2r.
by split; apply: fit => [|t]; rewrite ?sqr_ge0 //; case: (xW t).
Qed.

Lemma person_replaced :
  moments_person_replaced p row_square constant (Formulas.moment_square (row_square + constant ^+ 2)).
Proof.
move=> S T v w x y W rest rest' W0 vW wW xv yw; have [xP xC] := fits W0 vW xv; have [yP yC] := fits W0 wW yw.
have -> : Formulas.moment_square (row_square + constant ^+ 2) 1 = 2%:R * (row_square + constant ^+ 2) ^+ 2.
  by rewrite /Formulas.moment_square powE [2%:R]natZ Z.mul_1_l.
apply: le_trans (moments_replaced xP yP xC yC).
by rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: (proj2 (ext _ _)) => *; rewrite opprD addrACA subrr add0r.
Qed.

Lemma person_added :
  moments_person_added p row_square constant (Formulas.added_moment_square (row_square + constant ^+ 2)).
Proof.
move=> T w x W rest rest' W0 wW xw; have [xP xC] := fits W0 wW xw.
have -> : Formulas.added_moment_square (row_square + constant ^+ 2) 1 = (row_square + constant ^+ 2) ^+ 2.
  by rewrite /Formulas.added_moment_square powE Z.mul_1_l.
apply: le_trans (moments_added (ler_add xP xC)).
by rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: (proj1 (ext _ _)) => *; rewrite addrAC subrr add0r.
Qed.
End Bounds.
End Moments.
